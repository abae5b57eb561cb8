{{/* The name of the chart, for labels. */}}
{{- define "askbus.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
The name of everything. 36 characters: a role's name of up to 20 is added, and a StatefulSet adds a hash of 11 to its
own in a label of at most 63. It begins with a letter, as Services must.
*/}}
{{- define "askbus.fullname" -}}
{{- $name := include "askbus.releasename" . }}
{{- if regexMatch "^[0-9]" $name }}{{ $name = printf "askbus-%s" $name }}{{ end }}
{{- $name | trunc 36 | trimSuffix "-" }}
{{- end }}

{{- define "askbus.releasename" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 36 | trimSuffix "-" }}
{{- else }}
{{- $name := include "askbus.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 36 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 36 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "askbus.selectorLabels" -}}
app.kubernetes.io/name: {{ include "askbus.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/*
Labels of an object: dict "root", "component" if it belongs to a role, and "podLabels" if it is a pod. The chart's own
come first, because selectors need them.
*/}}
{{- define "askbus.labels" -}}
{{- $ours := include "askbus.ownLabels" . | fromYaml }}
{{- merge $ours (default (dict) .podLabels) .root.Values.commonLabels | toYaml }}
{{- end }}

{{- define "askbus.ownLabels" -}}
{{- with .root -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "askbus.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* The metadata of an object: dict "root", "name", and "component", "annotations" and "podLabels" if it has them. */}}
{{- define "askbus.metadata" -}}
name: {{ .name | quote }}
labels:
  {{- include "askbus.labels" . | nindent 2 }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What selects the pods of a role: dict "root" and "component". */}}
{{- define "askbus.selector" -}}
{{ include "askbus.selectorLabels" .root }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "askbus.serviceAccountName" -}}
{{- default (include "askbus.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{/* An image: dict "root" and "image". */}}
{{- define "askbus.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ default .root.Chart.AppVersion .image.tag }}
{{- end -}}
{{- end }}

{{- define "askbus.cluster" -}}
{{- if eq .Values.shape "cluster" }}true{{ end }}
{{- end }}

{{/* Whether the chart starts servers, and so has keys. */}}
{{- define "askbus.servers" -}}
{{- if not .Values.nats.url }}true{{ end }}
{{- end }}

{{/* The Secret with the certificate of the servers. In one pod NATS and HTTP share it. */}}
{{- define "askbus.natsTLS" -}}
{{- if and .Values.tls.nats.clientSecret (include "askbus.servers" .) (not .Values.tls.nats.existingSecret) (or (include "askbus.cluster" .) (not .Values.tls.http.existingSecret)) }}
{{- fail "tls.nats.clientSecret: the chart's servers ask for client certificates only over TLS; set tls.nats.existingSecret as well" }}
{{- end }}
{{- if include "askbus.cluster" . }}{{ .Values.tls.nats.existingSecret }}
{{- else if and .Values.tls.nats.existingSecret .Values.tls.http.existingSecret (ne .Values.tls.nats.existingSecret .Values.tls.http.existingSecret) }}
{{- fail "tls.nats.existingSecret and tls.http.existingSecret: the shape embedded is one process with one certificate, set one of them" }}
{{- else }}{{ default .Values.tls.http.existingSecret .Values.tls.nats.existingSecret }}
{{- end }}
{{- end }}

{{/* A size such as 10Gi or 8GiB in bytes. */}}
{{- define "askbus.bytes" -}}
{{- $unit := regexFind "[A-Za-z]*$" . | trimSuffix "B" }}
{{- $units := dict "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 }}
{{- mulf (float64 (regexFind "^[0-9.]+" .)) (get $units $unit) | printf "%.0f" }}
{{- end }}

{{/* Checks values that the schema cannot check. */}}
{{- define "askbus.check" -}}
{{- if not .Values.enabled }}{{ fail "enabled: only a parent chart whose dependency has condition: askbus.enabled leaves this chart out; without one do not install it" }}{{ end }}
{{- if and .Values.nats.url (not (include "askbus.cluster" .)) }}{{ fail "nats.url: the shape embedded has a server of its own; set shape: cluster to use another NATS" }}{{ end }}
{{- with .Values.persistence }}
{{- if and (include "askbus.servers" $) (gt (float64 (include "askbus.bytes" .storageLimit)) (float64 (include "askbus.bytes" .size))) }}
{{- fail (printf "persistence.storageLimit: %s is more than persistence.size, %s: writes would fail before new asks are refused" .storageLimit .size) }}
{{- end }}
{{- end }}
{{- if and (not .Values.persistence.enabled) .Values.persistence.existingClaim }}{{ fail "persistence.existingClaim: persistence.enabled is false; leave one of them out" }}{{ end }}
{{- range $role := list "broker" "web" "gateway" }}
{{- with (get $.Values $role).autoscaling }}
{{- if and .enabled (gt (int .min) (int .max)) }}{{ fail (printf "%s.autoscaling: min is %d and max is %d" $role (int .min) (int .max)) }}{{ end }}
{{- end }}
{{- end }}
{{- range .Values.responders }}
{{- if and .scaling (gt (int .scaling.min) (int .scaling.max)) }}{{ fail (printf "responder %s: scaling.min is %d and scaling.max is %d" .name (int .scaling.min) (int .scaling.max)) }}{{ end }}
{{- end }}
{{- end }}

{{/* Where the roles reach NATS. */}}
{{- define "askbus.natsURL" -}}
{{- $scheme := ternary "tls" "nats" (ne (include "askbus.natsTLS" .) "") }}
{{- if .Values.nats.url }}{{ .Values.nats.url }}
{{- else if include "askbus.cluster" . }}{{ printf "%s://%s-nats.%s.svc:%d" $scheme (include "askbus.fullname" .) .Release.Namespace (int .Values.service.ports.nats) }}
{{- else }}{{ printf "%s://%s.%s.svc:%d" $scheme (include "askbus.fullname" .) .Release.Namespace (int .Values.service.ports.nats) }}
{{- end }}
{{- end }}

{{/* The Secret of a role: dict "root" and "role". */}}
{{- define "askbus.secret" -}}
{{- $given := get .root.Values.credentials.existing .role }}
{{- if $given }}{{ $given }}
{{- else if .root.Values.credentials.generate }}{{ include "askbus.fullname" .root }}-{{ .role }}
{{- else }}{{ fail (printf "credentials.generate is false: name the Secret in credentials.existing.%s" .role) }}
{{- end }}
{{- end }}

{{/* The CA of NATS and the client certificate for it: variables, mounts and volumes. */}}
{{- define "askbus.natsTrustEnv" -}}
{{- if include "askbus.natsTLS" . }}
- { name: ASKBUS_NATS_CA_FILE, value: /tls-nats/ca.crt }
{{- end }}
{{- include "askbus.natsClientEnv" . }}
{{- end }}
{{- define "askbus.natsTrustMounts" -}}
{{- if include "askbus.natsTLS" . }}
- { name: tls-nats, mountPath: /tls-nats, readOnly: true }
{{- end }}
{{- include "askbus.natsClientMounts" . }}
{{- end }}
{{- define "askbus.natsTrustVolumes" -}}
{{- with include "askbus.natsTLS" . }}
- name: tls-nats # without its key
  secret: { secretName: {{ . | quote }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- include "askbus.natsClientVolumes" . }}
{{- end }}

{{/* The client certificate for NATS. A server's pod needs no more: its directory names the CA. */}}
{{- define "askbus.natsClientEnv" -}}
{{- if .Values.tls.nats.clientSecret }}
- { name: ASKBUS_NATS_CERT_FILE, value: /tls-client/tls.crt }
- { name: ASKBUS_NATS_KEY_FILE, value: /tls-client/tls.key }
{{- end }}
{{- end }}
{{- define "askbus.natsClientMounts" -}}
{{- if .Values.tls.nats.clientSecret }}
- { name: tls-client, mountPath: /tls-client, readOnly: true }
{{- end }}
{{- end }}
{{- define "askbus.natsClientVolumes" -}}
{{- with .Values.tls.nats.clientSecret }}
- name: tls-client
  secret: { secretName: {{ . | quote }}, defaultMode: 0440 }
{{- end }}
{{- end }}

{{/* The commands of askbus that are chats. */}}
{{- define "askbus.chats" -}}slack,telegram,discord,feishu,teams,mattermost,email{{- end }}

{{/* How clicks reach a responder: chats that can connect to their platform do, unless they say that they are called. */}}
{{- define "askbus.hears" -}}
{{- default (ternary "socket" "http" (and (not .image) (has (first .command) (list "slack" "telegram" "discord" "feishu")))) .hears }}
{{- end }}

{{/* What a responder serves: TYPE, or TYPE@TENANT. */}}
{{- define "askbus.group" -}}
{{- $fixed := "" }}
{{- if and (not .image) (has (first .command) (concat (splitList "," (include "askbus.chats" .)) (list "push" "webhook" "pagerduty"))) }}{{ $fixed = first .command }}{{ end }}
{{- if and .type $fixed (ne .type $fixed) }}{{ fail (printf "responder %s: type is %s, and the command %s is of the type %s; leave type out" .name .type $fixed $fixed) }}{{ end }}
{{- default (default .name $fixed) .type }}{{ with .tenant }}@{{ . }}{{ end }}
{{- end }}

{{/* Where the broker's figure, KEDA and consumers name a responder; and with its own name, as [NAME=]TYPE[@TENANT]. */}}
{{- define "askbus.groups" -}}
{{- $groups := list }}
{{- range .Values.responders }}{{ $groups = append $groups (include "askbus.group" .) }}{{ end }}
{{- join "," $groups }}
{{- end }}
{{- define "askbus.named" -}}
{{- $named := list }}
{{- range .Values.responders }}{{ $group := include "askbus.group" . }}{{ $named = append $named (ternary $group (printf "%s=%s" .name $group) (eq .name $group)) }}{{ end }}
{{- join "," $named }}
{{- end }}

{{/* Checks the responders. */}}
{{- define "askbus.checkResponders" -}}
{{- $names := list }}
{{- $of := dict }}
{{- range .Values.responders }}
{{- $names = append $names .name }}
{{- $group := include "askbus.group" . }}
{{- $typ := first (splitList "@" $group) }}
{{- $name := .name }}
{{- range $other, $served := $of }}
{{- if and (eq $typ (first (splitList "@" $served))) (or (eq $group $served) (eq $typ $group) (eq $typ $served)) }}
{{- if ne $other $name }}{{ fail (printf "responders %s and %s are both of the type %s and would share its asks: give each a tenant of its own, or another type" $other $name $typ) }}{{ end }}
{{- end }}
{{- end }}
{{- $_ := set $of .name $group }}
{{- end }}
{{- /* The schema's message for these would be "'not' failed". */}}
{{- range .Values.responders }}
{{- if has .name (list "broker" "web" "gateway" "server" "nats" "test" "keys" "ops" "credentials" "backup" "leaf") }}{{ fail (printf "responders: %s is the name of a role of its own; choose another" .name) }}{{ end }}
{{- if and .replicas .scaling }}{{ fail (printf "responder %s: replicas and scaling exclude each other; set one of them" .name) }}{{ end }}
{{- if and .port (eq (default "http" .hears) "nothing") }}{{ fail (printf "responder %s hears nothing, so it has no port; leave port out, or set hears: http" .name) }}{{ end }}
{{- end }}
{{- if has "issuer" $names }}{{ fail "responders: issuer is a role of its own; set issuer.enabled" }}{{ end }}
{{- if ne (len $names) (len (uniq $names)) }}{{ fail "responders: two have the same name" }}{{ end }}
{{- end }}

{{/* Checks the leaf nodes. */}}
{{- define "askbus.checkLeafNodes" -}}
{{- if and .Values.leafNodes.listen.enabled (not (include "askbus.servers" .)) }}{{ fail "leafNodes.listen: nats.url names servers that the chart does not start; let them listen to leaf nodes themselves" }}{{ end }}
{{- $names := list }}
{{- range .Values.leafNodes.remotes }}
{{- $names = append $names .name }}
{{- $role := printf "leaf-%s" .name }}
{{- range $.Values.responders }}{{ if eq .name $role }}{{ fail (printf "responders: %s is the name of a leaf node's Deployment; choose another" $role) }}{{ end }}{{ end }}
{{- end }}
{{- if ne (len $names) (len (uniq $names)) }}{{ fail "leafNodes.remotes: two have the same name" }}{{ end }}
{{- end }}

{{/* The address that people or agents are given: dict "root" and "url". */}}
{{- define "askbus.url" -}}
{{- if .url }}{{ .url }}
{{- else if .root.Values.ingress.enabled }}https://{{ .root.Values.ingress.host }}
{{- else if .root.Values.httpRoute.enabled }}https://{{ first .root.Values.httpRoute.hostnames }}
{{- end }}
{{- end }}

{{/* The names of a Service within the cluster, joined by commas: dict "root" and "name". */}}
{{- define "askbus.serviceNames" -}}
{{- $at := printf "%s.%s" .name .root.Release.Namespace }}
{{- join "," (list .name $at (printf "%s.svc" $at) (printf "%s.svc.cluster.local" $at)) }}
{{- end }}

{{/* The host names of browsers and, where one process serves both, of agents in the cluster, joined by commas. */}}
{{- define "askbus.hosts" -}}
{{- $hosts := .Values.web.hosts }}
{{- if .Values.ingress.enabled }}{{ $hosts = concat (append $hosts .Values.ingress.host) .Values.ingress.hosts }}{{ end }}
{{- if .Values.httpRoute.enabled }}{{ $hosts = concat $hosts .Values.httpRoute.hostnames }}{{ end }}
{{- if not (include "askbus.cluster" .) }}{{ $hosts = concat $hosts (splitList "," (include "askbus.serviceNames" (dict "root" . "name" (include "askbus.fullname" .)))) }}{{ end }}
{{- uniq $hosts | join "," }}
{{- end }}

{{/* A role's values with the approvals file mounted: dict "root" and "role". */}}
{{- define "askbus.withApprovals" -}}
{{- $role := deepCopy .role }}
{{- if .root.Values.approvals }}
{{- $_ := set $role "extraVolumes" (append (default list $role.extraVolumes) (dict "name" "approvals" "configMap" (dict "name" (printf "%s-approvals" (include "askbus.fullname" .root))))) }}
{{- $_ := set $role "extraVolumeMounts" (append (default list $role.extraVolumeMounts) (dict "name" "approvals" "mountPath" "/approvals" "readOnly" true)) }}
{{- end }}
{{- toYaml $role }}
{{- end }}

{{/* A role's values with the policy mounted: dict "root" and "role". */}}
{{- define "askbus.withPolicy" -}}
{{- $role := deepCopy .role }}
{{- if .root.Values.policy }}
{{- $_ := set $role "extraVolumes" (append (default list $role.extraVolumes) (dict "name" "policy" "configMap" (dict "name" (printf "%s-policy" (include "askbus.fullname" .root))))) }}
{{- $_ := set $role "extraVolumeMounts" (append (default list $role.extraVolumeMounts) (dict "name" "policy" "mountPath" "/policy" "readOnly" true)) }}
{{- end }}
{{- toYaml $role }}
{{- end }}

{{/* A role's values with the issuer's rules mounted: dict "root" and "role". */}}
{{- define "askbus.withRules" -}}
{{- $role := deepCopy .role }}
{{- if .root.Values.issuer.enabled }}
{{- $_ := set $role "extraVolumes" (append (default list $role.extraVolumes) (dict "name" "rules" "configMap" (dict "name" (printf "%s-issuer" (include "askbus.fullname" .root))))) }}
{{- $_ := set $role "extraVolumeMounts" (append (default list $role.extraVolumeMounts) (dict "name" "rules" "mountPath" "/rules" "readOnly" true)) }}
{{- end }}
{{- toYaml $role }}
{{- end }}
