{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* The MiB of a size. Kubernetes writes 20Gi or 20G; everprof writes 18GB or 18GiB, both of which mean 2^30. */}}
{{- define "everprof.mib" -}}
{{- $number := float64 (regexFind "^[0-9.]+" .text) }}
{{- $unit := regexReplaceAll "^[0-9.]+" .text "" }}
{{- $units := dict "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 }}
{{- if .everprof }}
{{- $unit = regexReplaceAll "i?B$" (upper $unit | replace "IB" "B") "" }}
{{- with $unit }}{{ $unit = printf "%si" . }}{{ end }}
{{- else }}
{{- $units = merge $units (dict "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15) }}
{{- end }}
{{- $factor := ternary 1.0 (get $units $unit) (empty $unit) }}
{{- floor (divf (mulf $number $factor) 1048576.0) | int64 }}
{{- end }}
{{/* --storage.tsdb.retention.size: below the size of the volume. */}}
{{- define "everprof.retentionSize" -}}
{{- $volume := include "everprof.mib" (dict "text" .Values.central.storage) | int64 }}
{{- $size := .Values.central.retentionSize | toString }}
{{- if not $size }}
{{- printf "%dMiB" (div (mul $volume 9) 10) }}
{{- else }}
{{- if not (hasSuffix "%" $size) }}
{{- if ge (include "everprof.mib" (dict "text" $size "everprof" true) | int64) $volume }}
{{- fail (printf "central.retentionSize=%s does not fit into central.storage=%s: make it smaller, or leave it empty for 90 %% of the volume" $size .Values.central.storage) }}
{{- end }}
{{- end }}
{{- $size }}
{{- end }}
{{- end }}
