{{/*
Names. The Deployment and what belongs to it are named after the release; what exists once in a
cluster (roles, the Lease) has fixed names, written where it is made.
*/}}

{{- define "controlee.name" -}}
{{- default .Chart.Name .Values.nameOverride -}}
{{- end -}}

{{/*
54 characters, so that "-metrics" fits behind it within the 63 of a Service's name. A release may be called
"1st" or "a.b", which a Service may not: dots become dashes, and a leading digit goes behind the chart's name.
*/}}
{{- define "controlee.fullname" -}}
{{- $name := include "controlee.name" . -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- $full := printf "%s-%s" $release $name -}}
{{- if .Values.fullnameOverride -}}
{{- $full = .Values.fullnameOverride -}}
{{- else if contains $name $release -}}
{{- $full = $release -}}
{{- end -}}
{{- if regexMatch "^[0-9]" $full -}}
{{- $full = printf "%s-%s" $name $release -}}
{{- end -}}
{{- $full | trunc 54 | trimAll "-" -}}
{{- end -}}

{{- define "controlee.metricsServiceName" -}}
{{- printf "%s-metrics" (include "controlee.fullname" .) -}}
{{- end -}}

{{- define "controlee.serviceAccountName" -}}
{{- default (include "controlee.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "controlee.selectorLabels" -}}
app.kubernetes.io/name: {{ include "controlee.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "controlee.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-_." }}
{{ include "controlee.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: controlee
{{- end -}}

{{- define "controlee.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The rules of a role, from the copy of rbac/ that the chart carries: no template holds a verb.
Call with (dict "files" .Files "file" "operator/cluster.yaml").
*/}}
{{- define "controlee.rules" -}}
{{- $path := printf "files/rbac/%s" .file -}}
{{- $rules := (.files.Get $path | fromYaml).rules -}}
{{- if not $rules -}}
{{- fail (printf "the chart is broken: %s holds no rules" $path) -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{/*
Subjects of the operator's bindings. Always the ServiceAccount that the Pods run as.
*/}}
{{- define "controlee.operatorSubjects" -}}
- kind: ServiceAccount
  name: {{ include "controlee.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{/*
Subjects from {groups: [...], users: [...]}; nothing where both are empty.
*/}}
{{- define "controlee.subjects" -}}
{{- range .groups }}
- apiGroup: rbac.authorization.k8s.io
  kind: Group
  name: {{ . | quote }}
{{- end }}
{{- range .users }}
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: {{ . | quote }}
{{- end }}
{{- end -}}

{{/*
A duration with one unit (6s, 500ms, 1m) in milliseconds. The schema admits no other form.
*/}}
{{- define "controlee.milliseconds" -}}
{{- if hasSuffix "ms" . -}}
{{- round (trimSuffix "ms" . | float64) 0 | int64 -}}
{{- else if hasSuffix "s" . -}}
{{- round (mulf (trimSuffix "s" . | float64) 1000) 0 | int64 -}}
{{- else -}}
{{- round (mulf (trimSuffix "m" . | float64) 60000) 0 | int64 -}}
{{- end -}}
{{- end -}}
