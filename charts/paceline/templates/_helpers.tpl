{{/* Names: Helm's habits. */}}
{{- define "paceline.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "paceline.operator" -}}
{{ include "paceline.name" . }}-operator
{{- end }}

{{/*
What lies outside of the release's namespace carries it: another release of that name may be in another namespace. A colon, which
no name of a release or a namespace can have, so that no two of them make the same name.

The roles had the operator's name alone once. An upgrade makes those of the new name before it deletes those of the old one (Helm,
Argo CD and Flux all prune last), so that the operator has its rights throughout; a rollback does the same the other way round.
*/}}
{{- define "paceline.wide" -}}
{{ include "paceline.operator" . }}:{{ .Release.Namespace }}
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

{{/* Refuses what cannot be meant, before anything of the release changes. */}}
{{- define "paceline.check" -}}
{{- if not (hasKey .Values.rbac "users") }}
{{- fail "upgrade with --reset-then-reuse-values in place of --reuse-values: the values of the release are an older chart's, and those that it did not know have no defaults" }}
{{- end }}
{{- if not .Values.rbac.clusterScoped }}
{{- if not .Values.operator.namespace }}
{{- fail "set operator.namespace to the namespace whose jobs are meant: rbac.clusterScoped=false makes no ClusterRole, so the operator cannot look after all of them" }}
{{- end }}
{{- if .Values.crds.install }}
{{- fail "set crds.install=false, and have a cluster admin apply deploy/crd: rbac.clusterScoped=false makes nothing that lies outside of a namespace" }}
{{- end }}
{{- end }}
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
