{{- /* The markers in a comment are for machines; a rule among them is shown by its message. */ -}}
{{- define "doc" -}}
{{- regexReplaceAll "(?m)^\\+.*\\n?" . "" | trim -}}
{{- end -}}

{{- define "rules" -}}
{{- range index . "kubebuilder:validation:XValidation" }}
- {{ .Message | default .Rule }}
{{- end -}}
{{- end -}}

{{- define "type" -}}
{{- $type := . -}}
{{- if markdownShouldRenderType $type }}
### {{ $type.Name }}
{{ if $type.IsAlias }}
_Underlying type:_ {{ markdownRenderTypeLink $type.UnderlyingType }}
{{ end }}
{{ template "doc" $type.Doc }}
{{ if $type.References }}
_Appears in:_ {{ range $i, $reference := $type.SortedReferences }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $reference }}{{ end }}
{{ end }}
{{- with index $type.Markers "kubebuilder:validation:XValidation" }}
_Rules:_
{{ template "rules" $type.Markers }}
{{ end }}
{{- if $type.Members }}
| Field | Type | Required | Description |
| --- | --- | --- | --- |
{{- if $type.GVK }}
| `apiVersion` | string | yes | `{{ $type.GVK.Group }}/{{ $type.GVK.Version }}` |
| `kind` | string | yes | `{{ $type.GVK.Kind }}` |
{{- end }}
{{- range $type.Members }}
| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ template "required" . }} | {{ template "type_members" . }} |
{{- end }}
{{ end }}
{{- if $type.EnumValues }}
| Value | Description |
| --- | --- |
{{- range $type.EnumValues }}
| `{{ .Name }}` | {{ regexReplaceAll "(?m)^\\+.*\\n?" .Doc "" | trim | markdownRenderFieldDoc | replace "\\{" "{" | replace "\\}" "}" }} |
{{- end }}
{{ end }}
{{- end -}}
{{- end -}}
