{{- define "required" -}}
{{- $required := "" -}}
{{- range .Validation }}{{ if hasPrefix "Required" . }}{{ $required = "yes" }}{{ end }}{{ end -}}
{{- $required -}}
{{- end -}}

{{- /* A cell of a table is one line: lines of a paragraph are joined, list items and paragraphs are not. */ -}}
{{- define "type_members" -}}
{{- $field := . -}}
{{- $doc := regexReplaceAll "(?m)^\\+.*\\n?" $field.Doc "" | trim -}}
{{- regexReplaceAll "([^\\n])\\n([^\\n-])" $doc "$1 $2" | markdownRenderFieldDoc | replace "\\{" "{" | replace "\\}" "}" -}}
{{- with $field.Default }} <br />Default: `{{ . }}`.{{ end -}}
{{- range $field.Validation -}}
{{- if not (or (hasPrefix "Optional" .) (hasPrefix "Required" .) (hasPrefix "XIntOrString" .)) }} <br />{{ markdownRenderFieldDoc . }}.{{ end -}}
{{- end -}}
{{- /* A field has the rules of its type as well; those are shown with the type. */ -}}
{{- $shown := list -}}
{{- with $field.Type -}}
{{- range index .Markers "kubebuilder:validation:XValidation" }}{{ $shown = append $shown .Message }}{{ end -}}
{{- with .UnderlyingType -}}
{{- range index .Markers "kubebuilder:validation:XValidation" }}{{ $shown = append $shown .Message }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range index $field.Markers "kubebuilder:validation:XValidation" -}}
{{- if not (has .Message $shown) }} <br />Rule: {{ .Message | default .Rule | markdownRenderFieldDoc | replace "\\{" "{" | replace "\\}" "}" }}.{{ end -}}
{{- end -}}
{{- end -}}
