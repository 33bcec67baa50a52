{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* Where the profile of AppArmor is written: in a field, before Kubernetes 1.30 in an annotation; nowhere without eBPF. */}}
{{- define "everprof.agent.apparmor" -}}
{{- if .Values.agent.ebpf }}
{{- ternary "field" "annotation" (semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- end }}
{{- define "everprof.agent.annotations" -}}
{{- $profile := .Values.agent.appArmorProfile }}
{{- if and (eq (include "everprof.agent.apparmor" .) "annotation") $profile }}
{{- $names := dict "Unconfined" "unconfined" "RuntimeDefault" "runtime/default" "Localhost" (printf "localhost/%v" $profile.localhostProfile) }}
container.apparmor.security.beta.kubernetes.io/everprof: {{ get $names $profile.type }}
{{- end }}
{{- with .Values.agent.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}
