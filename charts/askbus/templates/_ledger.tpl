{{/*
Refuses what would start servers on empty volumes beside those with the ledger: another shape, fewer servers, another
name, another NATS. It compares the claims of this release that exist with those of this rendering. Without a cluster
(helm template) lookup finds nothing; then the servers themselves refuse, by the note of the Job in their keys.
*/}}
{{- define "askbus.checkLedger" -}}
{{- $name := include "askbus.serverName" . }}
{{- $own := list }}
{{- if and (include "askbus.servers" .) .Values.persistence.enabled }}
{{- with .Values.persistence.existingClaim }}
{{- if gt (int (include "askbus.serverReplicas" $)) 1 }}{{ fail (printf "persistence.existingClaim: each server has a volume of its own, and there are %s; leave it out" (include "askbus.serverReplicas" $)) }}{{ end }}
{{- $own = append $own . }}
{{- else }}
{{- range $i := until (int (include "askbus.serverReplicas" .)) }}{{ $own = append $own (printf "data-%s-%d" $name $i) }}{{ end }}
{{- end }}
{{- end }}
{{- $there := list }}
{{- range (default list (lookup "v1" "PersistentVolumeClaim" .Release.Namespace "").items) }}
{{- $labels := default dict .metadata.labels }}
{{- if and (eq (toString (index $labels "app.kubernetes.io/instance")) $.Release.Name) (has (index $labels "app.kubernetes.io/name") (list (include "askbus.name" $) $.Chart.Name)) (regexMatch "^data-.+-[0-9]+$" .metadata.name) }}
{{- $there = append $there .metadata.name }}
{{- end }}
{{- end }}
{{- /* The claims of a StatefulSet that was installed with another nameOverride have another label. */}}
{{- range (default list (lookup "apps/v1" "StatefulSet" .Release.Namespace "").items) }}
{{- $set := . }}
{{- $labels := default dict .metadata.labels }}
{{- if and (eq (toString (index $labels "app.kubernetes.io/instance")) $.Release.Name) (eq (toString (index $labels "app.kubernetes.io/component")) "server") (hasPrefix (printf "%s-" $.Chart.Name) (toString (index $labels "helm.sh/chart"))) }}
{{- $size := "" }}
{{- range (default list .spec.volumeClaimTemplates) }}
{{- if eq .metadata.name "data" }}{{ $size = .spec.resources.requests.storage }}{{ end }}
{{- end }}
{{- if $size }}
{{- range $i := until (int .spec.replicas) }}{{ $there = append $there (printf "data-%s-%d" $set.metadata.name $i) }}{{ end }}
{{- if and (eq .metadata.name $name) (include "askbus.servers" $) $.Values.persistence.enabled (ne (include "askbus.bytes" (toString $size)) (include "askbus.bytes" $.Values.persistence.size)) }}
{{- include "askbus.failSize" (dict "root" $ "name" $name "from" $size "own" $own) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $left := list }}
{{- range uniq $there }}{{ if and (not (has . $own)) (not (has . $.Values.persistence.leave)) }}{{ $left = append $left . }}{{ end }}{{ end }}
{{- if $left }}
{{- fail (printf "this would start without the ledger: the volumes %s of release %s hold one, and the servers of these values (%s) do not use them. Keep shape, nats.replicas, nats.url, fullnameOverride and nameOverride as they were; or move the ledger by a backup (docs/operations.md, \"From one pod to a cluster\"); or, to leave it behind on purpose, set persistence.leave={%s}, or delete the claims" (join ", " (sortAlpha $left)) .Release.Name (default "servers elsewhere" (join ", " $own)) (join "," (sortAlpha $left))) }}
{{- end }}
{{- end }}

{{/* Kubernetes refuses to change the size in a StatefulSet, without saying what to do. */}}
{{- define "askbus.failSize" -}}
{{- $n := .root.Release.Namespace }}
{{- $patch := printf "{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"%s\"}}}}" .root.Values.persistence.size }}
{{- fail (printf "persistence.size: the volumes of %s are of %s, and Kubernetes does not change the size in a StatefulSet. Resize the claims, delete the StatefulSet and leave its pods, then upgrade again:\n  for claim in %s; do kubectl --namespace %s patch pvc $claim --patch '%s'; done\n  kubectl --namespace %s delete statefulset %s --cascade=orphan" .name .from (join " " .own) $n $patch $n .name) }}
{{- end }}

{{/* The name of the StatefulSet of the servers, and how many it has. */}}
{{- define "askbus.serverName" -}}
{{- include "askbus.fullname" . }}{{ if include "askbus.cluster" . }}-nats{{ end }}
{{- end }}
{{- define "askbus.serverReplicas" -}}
{{- if include "askbus.cluster" . }}{{ int .Values.nats.replicas }}{{ else }}1{{ end }}
{{- end }}
