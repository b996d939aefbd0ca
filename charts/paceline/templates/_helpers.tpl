{{/* Names: Helm's habits. */}}
{{- define "paceline.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "paceline.operator" -}}
{{ include "paceline.name" . }}-operator
{{- end }}

{{- define "paceline.account" -}}
{{ .Values.serviceAccount.name | default (include "paceline.operator" .) }}
{{- end }}

{{- define "paceline.selector" -}}
app.kubernetes.io/name: paceline
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "paceline.labels" -}}
{{ include "paceline.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: paceline
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* include "paceline.image" (list $ "operator") */}}
{{- define "paceline.image" -}}
{{- $root := index . 0 }}{{ $image := index $root.Values.image (index . 1) }}
{{- with $root.Values.image.registry }}{{ . }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default $root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The rules of the operator's role. One text for the ClusterRole and the Role, the same as in deploy/rbac. */}}
{{- define "paceline.rules" -}}
{{ .Files.Get "files/operator-rules.yaml" }}
{{- end }}
