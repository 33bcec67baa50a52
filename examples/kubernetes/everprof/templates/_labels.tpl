{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "everprof.labels" -}}
app.kubernetes.io/name: everprof
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "everprof.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end }}
{{- define "everprof.remoteWrite" -}}
{{ .Values.agent.remoteWrite | default (printf "http://%s.%s.svc:10902/api/v1/write" .Release.Name .Release.Namespace) }}
{{- end }}
