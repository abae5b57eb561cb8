{{/*
The pod template of a role. A dict:
  root, component
  role          its values; what they leave out is taken from the top level
  args          arguments
  env           list of variables of the role
  secret        Secret mounted at /creds, if any
  keys          Secret mounted at /keys/auth, if any
  ports         list of name and containerPort, besides ops
  image         values of an image that is not askbus's, whose ops port is unknown
  listens       its listeners are for other pods, besides ops
  tls           Secret with their certificate, if any
  volume        a claim is mounted at /data, else an empty directory
  claim         the claim for it, if the StatefulSet makes none
  ephemeral     the size of an empty directory in its place
  replicated    a role with several replicas: spread it
  reviews       it lets the API server review tokens
  serving       it is behind a Service: it stops only after that sends nothing more
  lingers       it knows that itself, and serves meanwhile
  directory     working directory, if not the image's
  health        port with /healthz, of an image that is not askbus's
*/}}
{{- define "askbus.pod" -}}
{{- $root := .root }}
{{- $top := pick $root.Values "resources" "nodeSelector" "tolerations" "affinity" "priorityClassName" "terminationGracePeriodSeconds" "podAnnotations" "podLabels" }}
{{- $c := merge (dict) .role $top }}
{{- $own := not .image }}
metadata:
  labels:
    {{- include "askbus.labels" (dict "root" $root "component" .component "podLabels" $c.podLabels) | nindent 4 }}
  {{- with merge (dict) (default (dict) $c.podAnnotations) $root.Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ if .reviews }}{{ include "askbus.fullname" $root }}-issuer{{ else }}{{ include "askbus.serviceAccountName" $root | quote }}{{ end }}
  automountServiceAccountToken: {{ default false .reviews }}
  # Otherwise Kubernetes sets variables such as ASKBUS_PORT for a Service named askbus, which look like settings.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ $c.terminationGracePeriodSeconds }}
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml $root.Values.podSecurityContext | nindent 4 }}
  {{- with $root.Values.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ if $own }}askbus{{ else }}responder{{ end }}
      image: {{ include "askbus.image" (dict "root" $root "image" (default $root.Values.image .image)) }}
      imagePullPolicy: {{ default $root.Values.image.pullPolicy (default dict .image).pullPolicy }}
      {{- with .directory }}
      workingDir: {{ . }}
      {{- end }}
      args:
        {{- toYaml .args | nindent 8 }}
        {{- if and .listens (not .tls) }}
        # The network of the pods is trusted: Ingress, HTTPRoute or a mesh terminate TLS. The values of tls extend it to here.
        - --insecure
        {{- end }}
      env:
        {{- $kept := list }}
        {{- range $more := list (include "askbus.podEnv" . | fromYamlArray) $root.Values.extraEnv (default list .role.extraEnv) }}
        {{- $names := list }}
        {{- range $more }}{{ $names = append $names .name }}{{ end }}
        {{- $before := $kept }}
        {{- $kept = list }}
        {{- range $before }}{{ if not (has .name $names) }}{{ $kept = append $kept . }}{{ end }}{{ end }}
        {{- $kept = concat $kept $more }}
        {{- end }}
        {{- toYaml $kept | nindent 8 }}
      {{- with concat $root.Values.envFrom (default list .role.envFrom) }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if or .ports $own }}
      ports:
        {{- range .ports }}
        - name: {{ .name }}
          containerPort: {{ .containerPort }}
          protocol: TCP
        {{- end }}
        {{- if $own }}
        - name: ops
          containerPort: 8421
          protocol: TCP
        {{- end }}
      {{- end }}
      {{- if $own }}
      # A start may take minutes: a ledger that was not closed is read completely, and a role waits for its server.
      startupProbe:
        httpGet:
          path: /readyz
          port: ops
        {{- toYaml $root.Values.probes.startup | nindent 8 }}
      livenessProbe:
        httpGet:
          path: /healthz
          port: ops
        {{- toYaml $root.Values.probes.liveness | nindent 8 }}
      readinessProbe:
        httpGet:
          path: /readyz
          port: ops
        {{- toYaml $root.Values.probes.readiness | nindent 8 }}
      {{- end }}
      {{- with .health }}
      livenessProbe:
        httpGet:
          path: /healthz
          port: {{ . }}
        {{- toYaml $root.Values.probes.liveness | nindent 8 }}
      readinessProbe:
        httpGet:
          path: /healthz
          port: {{ . }}
        {{- toYaml $root.Values.probes.readiness | nindent 8 }}
      {{- end }}
      {{- if and .serving (not .lingers) }}
      lifecycle:
        preStop:
          sleep:
            seconds: 5
      {{- end }}
      securityContext:
        {{- toYaml $root.Values.securityContext | nindent 8 }}
      {{- with $c.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - name: data
          mountPath: /data
        {{- if .secret }}
        - name: creds
          mountPath: /creds
          readOnly: true
        {{- with include "askbus.natsTrustMounts" $root | trim }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- else if .volume }}
        {{- with include "askbus.natsClientMounts" $root | trim }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- end }}
        {{- if .tls }}
        - name: tls
          mountPath: /tls
          readOnly: true
        {{- end }}
        {{- if .keys }}
        - name: keys
          mountPath: /keys/auth
          readOnly: true
        {{- end }}
        {{- with concat $root.Values.extraVolumeMounts (default list .role.extraVolumeMounts) }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  {{- if or (not .volume) .claim .ephemeral .secret .keys .tls $root.Values.extraVolumes .role.extraVolumes }}
  volumes:
    {{- if not .volume }}
    - name: data
      emptyDir:
        sizeLimit: 64Mi
    {{- end }}
    {{- with .ephemeral }}
    - name: data
      emptyDir:
        sizeLimit: {{ . }}
    {{- end }}
    {{- with .claim }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ . | quote }}
    {{- end }}
    {{- with .secret }}
    - name: creds
      secret:
        secretName: {{ . | quote }}
        defaultMode: 0440
    {{- end }}
    {{- if .secret }}
    {{- with include "askbus.natsTrustVolumes" $root | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- else if .volume }}
    {{- with include "askbus.natsClientVolumes" $root | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- end }}
    {{- with .tls }}
    - name: tls
      secret:
        secretName: {{ . | quote }}
        defaultMode: 0440
    {{- end }}
    {{- with .keys }}
    - name: keys
      secret:
        secretName: {{ . | quote }}
        defaultMode: 0440
    {{- end }}
    {{- with concat $root.Values.extraVolumes (default list .role.extraVolumes) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- if .replicated }}
  {{- $selector := include "askbus.selector" . }}
  {{- $spread := list }}
  {{- with $root.Values.topologySpread.hostname }}{{ $spread = append $spread (dict "key" "kubernetes.io/hostname" "when" .) }}{{ end }}
  {{- with $root.Values.topologySpread.zone }}{{ $spread = append $spread (dict "key" "topology.kubernetes.io/zone" "when" .) }}{{ end }}
  {{- with $spread }}
  topologySpreadConstraints:
    {{- range . }}
    - maxSkew: 1
      topologyKey: {{ .key }}
      whenUnsatisfiable: {{ .when }}
      labelSelector:
        matchLabels:
          {{- $selector | nindent 10 }}
    {{- end }}
  {{- end }}
  {{- end }}
  {{- with $c.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- with include "askbus.network" $root | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $c.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $c.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $c.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}


{{/* In which runtime every pod runs, and how it finds names. */}}
{{- define "askbus.network" -}}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The claim of a server's volume. */}}
{{- define "askbus.claim" -}}
- metadata:
    name: data
    labels:
      {{- include "askbus.selectorLabels" . | nindent 6 }}
    {{- with .Values.persistence.annotations }}
    annotations:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  spec:
    accessModes:
      {{- toYaml .Values.persistence.accessModes | nindent 6 }}
    {{- with .Values.persistence.storageClass }}
    storageClassName: {{ . | quote }}
    {{- end }}
    resources:
      requests:
        storage: {{ .Values.persistence.size }}
{{- end }}

{{/* The settings of the ledger, as variables. */}}
{{- define "askbus.ledgerEnv" -}}
{{- with .Values.retention }}
- name: ASKBUS_RETENTION
  value: {{ . | quote }}
{{- end }}
{{- with .Values.margin }}
- name: ASKBUS_MARGIN
  value: {{ . | quote }}
{{- end }}
{{- with .Values.partitions }}
- name: ASKBUS_PARTITIONS
  value: {{ int . | quote }}
{{- end }}
{{- with .Values.persistence.storageLimit }}
- name: ASKBUS_MAX_STORE
  value: {{ . | quote }}
{{- end }}
{{- if .Values.policy }}
- name: ASKBUS_POLICY
  value: /policy/policy.yaml
{{- end }}
{{- with include "askbus.groups" . }}
- name: ASKBUS_RESPONDER_TYPES
  value: {{ . | quote }}
{{- end }}
{{- end }}

{{/* The settings of the inbox, as variables. */}}
{{- define "askbus.webEnv" -}}
{{- with include "askbus.hosts" . }}
- name: ASKBUS_WEB_HOSTS
  value: {{ . | quote }}
{{- end }}
{{- with .Values.web.cookieKey }}
{{- if .existingSecret }}
- name: ASKBUS_WEB_COOKIE_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret | quote }}
      key: {{ .key | quote }}
{{- else if include "askbus.cluster" $ }}
- name: ASKBUS_WEB_COOKIE_KEY_FILE
  value: /creds/cookie-key
{{- end }}
{{- end }}
{{- end }}

{{/* The settings of the gateway, as variables. */}}
{{- define "askbus.gatewayEnv" -}}
{{- with .Values.gateway.url }}
- name: ASKBUS_GATEWAY_URL
  value: {{ . | quote }}
{{- end }}
{{- with .Values.gateway.corsOrigins }}
- name: ASKBUS_CORS_ORIGINS
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.gateway.embedOrigins }}
- name: ASKBUS_EMBED_ORIGINS
  value: {{ join "," . | quote }}
{{- end }}
{{- end }}

{{/*
The spec of the Job that makes credentials: dict "root", "component", "name" and "args". What leaf nodes trust, and the
certificate that they show, is handed out with their credential.
*/}}
{{- define "askbus.credentialsJob" -}}
backoffLimit: 6
activeDeadlineSeconds: 600
template:
  metadata:
    labels:
      {{- include "askbus.labels" (dict "root" .root "component" .component "podLabels" .root.Values.podLabels) | nindent 6 }}
    {{- with merge (dict) .root.Values.podAnnotations .root.Values.commonAnnotations }}
    annotations:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  spec:
    restartPolicy: OnFailure
    serviceAccountName: {{ .name }}
    automountServiceAccountToken: true
    enableServiceLinks: false
    {{- with .root.Values.imagePullSecrets }}
    imagePullSecrets:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    securityContext:
      {{- toYaml .root.Values.podSecurityContext | nindent 6 }}
    containers:
      - name: askbus
        image: {{ include "askbus.image" (dict "root" .root "image" .root.Values.image) }}
        imagePullPolicy: {{ .root.Values.image.pullPolicy }}
        args:
          {{- toYaml .args | nindent 10 }}
        securityContext:
          {{- toYaml .root.Values.securityContext | nindent 10 }}
        {{- with .root.Values.resources }}
        resources:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        volumeMounts:
          - { name: data, mountPath: /data }
          {{- if and .root.Values.leafNodes.listen.enabled (include "askbus.natsTLS" .root) }}
          - { name: leaf-tls, mountPath: /leaf-tls, readOnly: true }
          {{- end }}
    volumes:
      - name: data
        emptyDir: { sizeLimit: 16Mi }
      {{- if .root.Values.leafNodes.listen.enabled }}
      {{- with include "askbus.natsTLS" .root }}
      - name: leaf-tls
        projected:
          defaultMode: 0440
          sources:
            - secret: { name: {{ . | quote }}, items: [{ key: ca.crt, path: ca.crt }] }
            {{- with $.root.Values.tls.nats.clientSecret }}
            - secret: { name: {{ . | quote }}, items: [{ key: tls.crt, path: tls.crt }, { key: tls.key, path: tls.key }] }
            {{- end }}
      {{- end }}
      {{- end }}
    {{- with .root.Values.priorityClassName }}
    priorityClassName: {{ . | quote }}
    {{- end }}
    {{- with .root.Values.affinity }}
    affinity:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with include "askbus.network" .root | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with .root.Values.nodeSelector }}
    nodeSelector:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .root.Values.tolerations }}
    tolerations:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}

{{/*
The variables of a role, of the dict of askbus.pod. One in extraEnv replaces the one of its name here, and a role's
replaces the one for all roles: an API server refuses a name that comes twice.
*/}}
{{- define "askbus.podEnv" -}}
{{- $root := .root }}
- name: ASKBUS_LOG_LEVEL
  value: {{ $root.Values.logLevel }}
- name: ASKBUS_LOG_FORMAT
  value: json
{{- if .secret }}
- name: ASKBUS_CREDS
  value: /creds/creds.json
- name: ASKBUS_NATS_URL
  value: {{ include "askbus.natsURL" $root | quote }}
- name: ASKBUS_NATS_WAIT
  value: 5m
{{- with include "askbus.natsTrustEnv" $root | trim }}
{{- . | nindent 0 }}
{{- end }}
{{- else if .volume }}
# The process of a pod that was deleted by force may still run: its successor waits for it.
- name: ASKBUS_STORE_WAIT
  value: 2m
{{- with include "askbus.natsClientEnv" $root | trim }}
# For commands in this pod, such as kubectl exec … askbus doctor.
{{- . | nindent 0 }}
{{- end }}
{{- end }}
{{- if .tls }}
- name: ASKBUS_TLS_CERT_FILE
  value: /tls/tls.crt
- name: ASKBUS_TLS_KEY_FILE
  value: /tls/tls.key
{{- if and $root.Values.tls.nats.clientSecret .volume }}
- name: ASKBUS_TLS_CLIENT_CA_FILE
  value: /tls/ca.crt
{{- end }}
{{- end }}
{{- if .lingers }}
# The Service sends nothing more when it learns that the pod stops; clients with open connections are sent elsewhere.
- name: ASKBUS_HTTP_LINGER
  value: 8s
{{- end }}
{{- range .env }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end }}
