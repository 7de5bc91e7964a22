{{- define "gvDetails" }}
## {{ .GroupVersionString }}

{{ range .SortedKinds }}- {{ markdownRenderTypeLink ($.TypeForKind .) }}
{{ end }}
{{- range .SortedKinds }}{{ template "type" ($.TypeForKind .) }}{{ end }}
## Types that they are made of
{{ range .SortedTypes }}{{ if not .GVK }}{{ template "type" . }}{{ end }}{{ end }}
{{- end -}}
