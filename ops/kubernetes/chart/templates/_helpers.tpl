{{- define "llm-gateway.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "llm-gateway.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "llm-gateway.labels" -}}
{{ include "llm-gateway.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "llm-gateway.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "llm-gateway.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "llm-gateway.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Seconds between SIGTERM and SIGKILL: always more than the gateway needs for a stop. */}}
{{- define "llm-gateway.gracePeriod" -}}
{{- with .Values.drain -}}
{{- addf .readinessGraceSeconds .seconds .marginSeconds | ceil | int64 -}}
{{- end -}}
{{- end -}}

{{/* "true" where the file profile, keys or prices exists. */}}
{{- define "llm-gateway.hasFile" -}}
{{- if or .content .existingConfigMap .existingSecret -}}true{{- end -}}
{{- end -}}

{{- define "llm-gateway.hasMetricsPort" -}}
{{- if and .Values.metrics.enabled .Values.metrics.port -}}true{{- end -}}
{{- end -}}

{{/* The text of a value of a variable. Helm holds every number as a float, whose own text is 2.097152e+07. */}}
{{- define "llm-gateway.text" -}}
{{- ternary . (toJson .) (kindIs "string" .) -}}
{{- end -}}

{{/* The names of the secrets that are not null. */}}
{{- define "llm-gateway.secretNames" -}}
{{- range $name := keys .Values.secrets | sortAlpha -}}
{{- if index $.Values.secrets $name }}{{ $name }} {{ end -}}
{{- end -}}
{{- end -}}

{{/* The variables of the gateway's container. */}}
{{- define "llm-gateway.env" -}}
{{- $isSidecar := eq .Values.mode "sidecar" -}}
- name: GATEWAY_HOST
  value: {{ ternary "127.0.0.1" .Values.listenAddress $isSidecar | quote }}
- name: GATEWAY_PORT
  value: {{ ternary .Values.sidecar.port 8090 $isSidecar | quote }}
- name: GATEWAY_SHUTDOWN_TIMEOUT_SECONDS
  value: {{ .Values.drain.seconds | quote }}
- name: GATEWAY_SHUTDOWN_READINESS_GRACE_SECONDS
  {{- /* A sidecar is told to stop when the application has stopped: no balancer has to learn it. */}}
  value: {{ ternary 0 .Values.drain.readinessGraceSeconds $isSidecar | quote }}
- name: GATEWAY_METRICS_ENABLED
  value: {{ .Values.metrics.enabled | quote }}
{{- if include "llm-gateway.hasMetricsPort" . }}
- name: GATEWAY_METRICS_HOST
  value: {{ .Values.listenAddress | quote }}
- name: GATEWAY_METRICS_PORT
  value: {{ .Values.metrics.port | quote }}
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: GATEWAY_USE_HTTPS
  value: "true"
- name: GATEWAY_HTTPS_CERT_FILE
  value: /etc/llm-gateway/tls/tls.crt
- name: GATEWAY_HTTPS_KEY_FILE
  value: /etc/llm-gateway/tls/tls.key
{{- end }}
{{- range $file, $setting := dict "profile" "GATEWAY_CONFIG" "keys" "GATEWAY_KEYS_FILE" "prices" "GATEWAY_PRICES_FILE" }}
{{- if include "llm-gateway.hasFile" (index $.Values $file) }}
- name: {{ $setting }}
  value: /etc/llm-gateway/{{ $file }}/{{ (index $.Values $file).key }}
{{- end }}
{{- end }}
{{- range $name := include "llm-gateway.secretNames" . | trim | splitList " " | compact }}
- name: {{ $name }}_FILE
  value: /etc/llm-gateway/secrets/{{ $name }}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- if ne (toString $value) "" }}
- name: {{ $name }}
  value: {{ include "llm-gateway.text" $value | quote }}
{{- end }}
{{- end }}
{{- range .Values.extraEnv }}
{{- if hasKey . "value" }}
- name: {{ .name }}
  value: {{ include "llm-gateway.text" .value | quote }}
{{- else }}
{{ toYaml (list .) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What both kinds of container share, from the image to the mounts. */}}
{{- define "llm-gateway.containerBase" -}}
{{- $port := ternary .Values.sidecar.port 8090 (eq .Values.mode "sidecar") | int -}}
{{- if and (include "llm-gateway.hasMetricsPort" .) (eq $port (int .Values.metrics.port)) -}}
{{- fail (printf "metrics.port is %d, the port of clients; 0 serves the metrics there." $port) -}}
{{- end -}}
image: {{ include "llm-gateway.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
env:
  {{- include "llm-gateway.env" . | nindent 2 }}
ports:
  {{- if ne .Values.mode "sidecar" }}
  - {name: http, containerPort: 8090, protocol: TCP}
  {{- end }}
  {{- if include "llm-gateway.hasMetricsPort" . }}
  - {name: metrics, containerPort: {{ .Values.metrics.port }}, protocol: TCP}
  {{- end }}
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
  seccompProfile: {type: RuntimeDefault}
volumeMounts:
  - {name: llm-gateway-state, mountPath: /data}
  {{- range $file := list "profile" "keys" "prices" }}
  {{- if include "llm-gateway.hasFile" (index $.Values $file) }}
  - {name: llm-gateway-{{ $file }}, mountPath: /etc/llm-gateway/{{ $file }}, readOnly: true}
  {{- end }}
  {{- end }}
  {{- if include "llm-gateway.secretNames" . }}
  - {name: llm-gateway-secrets, mountPath: /etc/llm-gateway/secrets, readOnly: true}
  {{- end }}
  {{- if .Values.tls.existingSecret }}
  - {name: llm-gateway-tls, mountPath: /etc/llm-gateway/tls, readOnly: true}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "llm-gateway.httpProbe" -}}
{path: {{ .path }}, port: http{{ if .root.Values.tls.existingSecret }}, scheme: HTTPS{{ end }}}
{{- end -}}

{{/* The container of a deployment. */}}
{{- define "llm-gateway.container" -}}
- name: llm-gateway
  {{- include "llm-gateway.containerBase" . | nindent 2 }}
  startupProbe:
    httpGet: {{ include "llm-gateway.httpProbe" (dict "root" . "path" "/health") }}
    periodSeconds: 2
    timeoutSeconds: 2
    failureThreshold: {{ div (add .Values.probes.startupSeconds 1) 2 }}
  {{- /* 503 from the start of a stop, and until the model list of the native upstream is there. */}}
  readinessProbe:
    httpGet: {{ include "llm-gateway.httpProbe" (dict "root" . "path" "/ready") }}
    periodSeconds: {{ .Values.probes.readinessPeriodSeconds }}
    timeoutSeconds: 3
    failureThreshold: 2
  {{- /* Only the process: a provider that is down is no reason to restart. */}}
  livenessProbe:
    httpGet: {{ include "llm-gateway.httpProbe" (dict "root" . "path" "/health") }}
    periodSeconds: {{ .Values.probes.livenessPeriodSeconds }}
    timeoutSeconds: 5
    failureThreshold: 6
{{- end -}}

{{/*
A native sidecar container: an entry of `initContainers`. The gateway listens on the pod's loopback address alone, which the kubelet
cannot reach, so the probes run in the container: the image's own health check.
*/}}
{{- define "llm-gateway.sidecar" -}}
- name: llm-gateway
  restartPolicy: Always
  {{- include "llm-gateway.containerBase" . | nindent 2 }}
  startupProbe:
    exec: {command: {{ include "llm-gateway.checkCommand" . }}}
    periodSeconds: 2
    timeoutSeconds: 5
    failureThreshold: {{ div (add .Values.probes.startupSeconds 1) 2 }}
  livenessProbe:
    exec: {command: {{ include "llm-gateway.checkCommand" . }}}
    periodSeconds: {{ mul .Values.probes.livenessPeriodSeconds 3 }}
    timeoutSeconds: 10
    failureThreshold: 3
{{- end -}}

{{- define "llm-gateway.checkCommand" -}}
{{- list "node" "/app/dist/ops/container/health.js" | toJson -}}
{{- end -}}

{{/* A sidecar leaves the pod's fsGroup to the application; no other container mounts these files. */}}
{{- define "llm-gateway.fileMode" -}}
{{ ternary "0444" "0440" (eq .Values.mode "sidecar") }}
{{- end -}}

{{/* The volumes of either container. */}}
{{- define "llm-gateway.volumes" -}}
- name: llm-gateway-state
  {{- toYaml (default (dict "emptyDir" (dict "sizeLimit" "1Gi")) .Values.stateVolume) | nindent 2 }}
{{- range $file := list "profile" "keys" "prices" }}
{{- $source := index $.Values $file }}
{{- if include "llm-gateway.hasFile" $source }}
- name: llm-gateway-{{ $file }}
  {{- if $source.existingSecret }}
  secret: {secretName: {{ $source.existingSecret }}, defaultMode: {{ include "llm-gateway.fileMode" $ }}, items: [{key: {{ $source.key }}, path: {{ $source.key }}}]}
  {{- else }}
  configMap: {name: {{ default (printf "%s-%s" (include "llm-gateway.fullname" $) $file) $source.existingConfigMap }}, items: [{key: {{ $source.key }}, path: {{ $source.key }}}]}
  {{- end }}
{{- end }}
{{- end }}
{{- if include "llm-gateway.secretNames" . }}
- name: llm-gateway-secrets
  projected:
    defaultMode: {{ include "llm-gateway.fileMode" $ }}
    sources:
      {{- range $name := include "llm-gateway.secretNames" . | trim | splitList " " }}
      {{- $reference := index $.Values.secrets $name }}
      - secret: {name: {{ $reference.name }}, items: [{key: {{ $reference.key }}, path: {{ $name }}}]}
      {{- end }}
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: llm-gateway-tls
  secret: {secretName: {{ .Values.tls.existingSecret }}, defaultMode: {{ include "llm-gateway.fileMode" $ }}}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
