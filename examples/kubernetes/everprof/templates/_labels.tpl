{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "everprof.labels" -}}
app.kubernetes.io/name: everprof
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "everprof.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
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
