{{/* Names: Helm's habits. */}}
{{- define "paceline.name" -}}
{{- $chart := .Values.nameOverride | default .Chart.Name }}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride }}
{{- else if contains $chart .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $chart | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "paceline.operator" -}}
{{ include "paceline.name" . }}-operator
{{- end }}

{{/*
What lies outside of the release's namespace carries it: another release of that name may be in another namespace. A colon, which
no name of a release or a namespace can have, so that no two of them make the same name.

The roles had the operator's name alone once. Helm, and Flux with it, makes those of the new name before it deletes those of the old
one, so that the operator has its rights throughout; a rollback does the same the other way round. Argo CD prunes first within a wave,
which is why they are of an earlier one.
*/}}
{{- define "paceline.wide" -}}
{{ include "paceline.operator" . }}:{{ .Release.Namespace }}
{{- end }}

{{- define "paceline.before-pruning" -}}
argocd.argoproj.io/sync-wave: "-1"
{{- end }}

{{- define "paceline.account" -}}
{{ .Values.serviceAccount.name | default (include "paceline.operator" .) }}
{{- end }}

{{- define "paceline.test-selector" -}}
app.kubernetes.io/name: paceline
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: test
{{- end }}

{{/* What finds the operator's pods. It cannot be changed once there is a Deployment, so no value is in it. */}}
{{- define "paceline.selector" -}}
app.kubernetes.io/name: paceline
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "paceline.own-labels" -}}
{{ include "paceline.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* include "paceline.labels" (list $ LABELS): the chart's, those of commonLabels, and LABELS, which win over commonLabels. */}}
{{- define "paceline.labels" -}}
{{- $root := index . 0 }}
{{- $part := dict "app.kubernetes.io/part-of" "paceline" }}
{{- mergeOverwrite $part ($root.Values.commonLabels | default dict) (index . 1 | default dict) (include "paceline.own-labels" $root | fromYaml) | toYaml }}
{{- end }}

{{/* Refuses what cannot be meant, before anything of the release changes. */}}
{{- define "paceline.check" -}}
{{- if not (and (hasKey .Values.rbac "users") (hasKey .Values "security") (hasKey .Values "jobs")) }}
{{- fail "upgrade with --reset-then-reuse-values in place of --reuse-values: the values of the release are an older chart's, and those that it did not know have no defaults" }}
{{- end }}
{{- $own := include "paceline.own-labels" . | fromYaml }}
{{- range $value, $labels := dict "commonLabels" .Values.commonLabels "operator.podLabels" .Values.operator.podLabels }}
{{- range $label, $_ := $labels }}
{{- if hasKey $own $label }}
{{- fail (printf "leave %s out of %s: pods are found by the chart's labels, and the release's objects by Helm" $label $value) }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.security.networkPolicy }}
{{- if and (or .mode .from .extraPorts .egress) (not $.Values.networkPolicy.enabled) }}
{{- fail "set networkPolicy.enabled=true, or nothing in security.networkPolicy, which is about that policy" }}
{{- end }}
{{- if and .egress (ne (.mode | default "") "IngressAndEgress") }}
{{- fail "set security.networkPolicy.mode=IngressAndEgress: security.networkPolicy.egress is for an operator whose ways out are limited" }}
{{- end }}
{{- end }}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) }}
{{- fail "set serviceAccount.name to an account of the release's namespace: serviceAccount.create=false makes none, and the operator's rights are not for all pods there, whose account is default" }}
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
