{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* What both pods have. Each takes a list: the root, and the values of the pod. */}}
{{- define "everprof.pod.place" -}}
{{- $root := index . 0 }}{{ $values := index . 1 -}}
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 0 }}
{{- end }}
{{- $nodes := $values.nodeSelector }}
{{- with $root.Values.image.arch }}
{{- $nodes = merge (dict "kubernetes.io/arch" .) $nodes }}
{{- end }}
{{- with $nodes }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "everprof.pod.image" -}}
image: {{ .Values.image.repository }}:{{ .Values.image.tag }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}
