{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "everprof.labels" -}}
app.kubernetes.io/name: everprof
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{/* A folder for each release: two agents of one node must not share it. */}}
{{- define "everprof.hostPath" -}}
{{- .Values.agent.hostPath | default (printf "/var/lib/everprof-agent/%s.%s" .Release.Namespace .Release.Name) }}
{{- end }}
{{- define "everprof.remoteWrite" -}}
{{- if .Values.agent.remoteWrite }}
{{- .Values.agent.remoteWrite }}
{{- else if .Values.central.enabled }}
{{- printf "http://%s.%s.svc:10902/api/v1/write" .Release.Name .Release.Namespace }}
{{- else }}
{{- fail "Without the central everprof (central.enabled=false), set agent.remoteWrite to the URL that the agents send to." }}
{{- end }}
{{- end }}
