{{/* Where backups go: a directory of the claim, or a prefix of a bucket. */}}
{{- define "askbus.backupPlace" -}}
{{- if .Values.backup.s3.bucket -}}
s3://{{ .Values.backup.s3.bucket }}/{{ trimAll "/" .Values.backup.s3.prefix }}/
{{- else -}}
/backup
{{- end }}
{{- end }}

{{/* The claim for them. */}}
{{- define "askbus.backupClaim" -}}
{{- default (printf "%s-backup" (include "askbus.fullname" .)) .Values.backup.claim.existing }}
{{- end }}

{{/*
The spec of a pod that makes a backup or restores one: dict "root", and "containers" and "first" (init containers) as lists
of dict "name", "args", "creds" (it connects to NATS).
*/}}
{{- define "askbus.backupPod" -}}
{{- $root := .root }}
{{- $backup := $root.Values.backup }}
restartPolicy: {{ .restart }}
serviceAccountName: {{ include "askbus.serviceAccountName" $root | quote }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml $root.Values.podSecurityContext | nindent 2 }}
{{- $creds := false }}
{{- range $kind, $list := dict "containers" .containers "initContainers" .first }}
{{- with $list }}
{{ $kind }}:
  {{- range . }}
  {{- if .creds }}{{ $creds = true }}{{ end }}
  - name: {{ .name }}
    image: {{ include "askbus.image" (dict "root" $root "image" $root.Values.image) }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    args:
      {{- toYaml .args | nindent 6 }}
    env:
      - { name: TMPDIR, value: /data }
      {{- if .creds }}
      - { name: ASKBUS_CREDS, value: /creds/creds.json }
      - { name: ASKBUS_NATS_URL, value: {{ include "askbus.natsURL" $root | quote }} }
      {{- with include "askbus.natsTrustEnv" $root | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- end }}
      {{- with $backup.s3 }}
      {{- if .bucket }}
      {{- with .endpoint }}
      - { name: AWS_ENDPOINT_URL_S3, value: {{ . | quote }} }
      {{- end }}
      - { name: AWS_REGION, value: {{ .region | quote }} }
      {{- end }}
      {{- end }}
      {{- with $backup.extraEnv }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- if $backup.s3.bucket }}
    envFrom:
      - secretRef: { name: {{ $backup.s3.secret | quote }} }
    {{- end }}
    securityContext:
      {{- toYaml $root.Values.securityContext | nindent 6 }}
    {{- with default $root.Values.resources $backup.resources }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    volumeMounts:
      - { name: data, mountPath: /data }
      {{- if not $backup.s3.bucket }}
      - { name: backup, mountPath: /backup{{ if not .creds }}, readOnly: true{{ end }} }
      {{- end }}
      {{- if .creds }}
      - { name: creds, mountPath: /creds, readOnly: true }
      {{- with include "askbus.natsTrustMounts" $root | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- end }}
      {{- with $root.Values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
  {{- end }}
{{- end }}
{{- end }}
volumes:
  - name: data
    emptyDir: { sizeLimit: {{ $backup.scratchSize }} }
  {{- if not $backup.s3.bucket }}
  - name: backup
    persistentVolumeClaim: { claimName: {{ include "askbus.backupClaim" $root | quote }} }
  {{- end }}
  {{- if $creds }}
  - name: creds
    secret: { secretName: {{ include "askbus.secret" (dict "root" $root "role" "backup") | quote }}, defaultMode: 0440 }
  {{- with include "askbus.natsTrustVolumes" $root | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- with $root.Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "askbus.network" $root | trim }}
{{- . | nindent 0 }}
{{- end }}
{{- with $root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Checks the values of backups. */}}
{{- define "askbus.checkBackup" -}}
{{- with .Values.backup.s3 }}
{{- if and .bucket (not .secret) }}{{ fail "backup.s3.secret: name a Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the bucket" }}{{ end }}
{{- if and .bucket (not (trimAll "/" .prefix)) }}{{ fail "backup.s3.prefix: give this bus's backups a prefix that no other bus has, also of another cluster: each removes the oldest there" }}{{ end }}
{{- if and .bucket $.Values.backup.claim.existing }}{{ fail "backup.s3.bucket and backup.claim.existing exclude each other; set one of them" }}{{ end }}
{{- end }}
{{- end }}
