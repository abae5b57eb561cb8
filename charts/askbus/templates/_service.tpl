{{/*
The metadata and the first part of the spec of a Service: dict "root", "name", "component", "service" (nats, leaf, gateway
or web) and "tls", the Secret with its certificate. What leaves the cluster in plain text needs insecure: true.
*/}}
{{- define "askbus.service" -}}
{{- $s := get .root.Values.service .service }}
{{- $type := default .root.Values.service.type $s.type }}
{{- $tls := ternary "nats" "http" (has .service (list "nats" "leaf")) }}
{{- if and (ne $type "ClusterIP") (not .tls) (not $s.insecure) }}
{{- fail (printf "service.%s: %s would publish it beyond the cluster in plain text: set tls.%s.existingSecret, or service.%s.insecure=true where a load balancer or a private network protects it, or service.%s.type=ClusterIP" .service $type $tls .service .service) }}
{{- end }}
{{- if and (ne $type "LoadBalancer") (or $s.loadBalancerClass $s.loadBalancerSourceRanges) }}
{{- fail (printf "service.%s: loadBalancerClass and loadBalancerSourceRanges are of the type LoadBalancer, and this is %s" .service $type) }}
{{- end }}
{{- if and (eq $type "ClusterIP") $s.externalTrafficPolicy }}
{{- fail (printf "service.%s: externalTrafficPolicy is of the types NodePort and LoadBalancer, and this is ClusterIP" .service) }}
{{- end }}
metadata:
  {{- include "askbus.metadata" (dict "root" .root "name" .name "component" .component "annotations" (merge (dict) $s.annotations .root.Values.service.annotations)) | nindent 2 }}
spec:
  type: {{ $type }}
  {{- range $key := list "loadBalancerClass" "externalTrafficPolicy" "ipFamilyPolicy" }}
  {{- with get $s $key }}
  {{ $key }}: {{ . }}
  {{- end }}
  {{- end }}
  {{- range $key := list "loadBalancerSourceRanges" "ipFamilies" }}
  {{- with get $s $key }}
  {{ $key }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  selector:
    {{- include "askbus.selector" (dict "root" .root "component" .component) | nindent 4 }}
{{- end }}
