{{/* What the pods of the services and of the Job have in common. */}}

{{- define "millrace.podSecurity" -}}
runAsNonRoot: true
{{- with .Values.user }}
runAsUser: {{ . | int64 }}
runAsGroup: {{ . | int64 }}
fsGroup: {{ . | int64 }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "millrace.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* root, client: the settings of a connection to Kafka */}}
{{- define "millrace.kafkaEnv" -}}
{{- $kafka := .root.Values.kafka -}}
{{- if and (ne $kafka.protocol "PLAINTEXT") (not $kafka.embedded.enabled) }}
- {name: MILLRACE_KAFKA_SECURITY_PROTOCOL, value: {{ $kafka.protocol | quote }}}
{{- if and $kafka.caSecret (has $kafka.protocol (list "SSL" "SASL_SSL")) }}
- {name: MILLRACE_KAFKA_CA_FILE, value: /etc/millrace/kafka/ca.crt}
{{- end }}
{{- if eq $kafka.protocol "SSL" }}
- {name: MILLRACE_KAFKA_CERTIFICATE_FILE, value: /etc/millrace/kafka/tls.crt}
- {name: MILLRACE_KAFKA_KEY_FILE, value: /etc/millrace/kafka/tls.key}
{{- else }}
- {name: MILLRACE_KAFKA_SASL_MECHANISM, value: {{ $kafka.saslMechanism | quote }}}
- name: MILLRACE_KAFKA_USERNAME
  valueFrom: {secretKeyRef: {name: {{ .client.secret | quote }}, key: username}}
- {name: MILLRACE_KAFKA_PASSWORD_FILE, value: /etc/millrace/kafka/password}
{{- end }}
{{- end }}
{{- end -}}

{{- define "millrace.kafkaMounts" -}}
{{- if and (ne .root.Values.kafka.protocol "PLAINTEXT") (not .root.Values.kafka.embedded.enabled) }}
- {name: kafka, mountPath: /etc/millrace/kafka, readOnly: true}
{{- end }}
{{- end -}}

{{/* root, client */}}
{{- define "millrace.kafkaVolumes" -}}
{{- $kafka := .root.Values.kafka -}}
{{- if and (ne $kafka.protocol "PLAINTEXT") (not $kafka.embedded.enabled) }}
- name: kafka
  projected:
    defaultMode: 0440
    sources:
    - secret:
        name: {{ .client.secret | quote }}
        items:
        {{- if eq $kafka.protocol "SSL" }}
        - {key: tls.crt, path: tls.crt}
        - {key: tls.key, path: tls.key}
        {{- else }}
        - {key: password, path: password}
        {{- end }}
    {{- if and $kafka.caSecret (has $kafka.protocol (list "SSL" "SASL_SSL")) }}
    - secret:
        name: {{ $kafka.caSecret | quote }}
        items:
        - {key: ca.crt, path: ca.crt}
    {{- end }}
{{- end }}
{{- end -}}

{{/* The probes of a service, on the metrics port. */}}
{{- define "millrace.probes" -}}
{{/* The port is open as soon as the process runs; a long restore is no reason to restart it. */ -}}
startupProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 1
  timeoutSeconds: 2
  failureThreshold: {{ .start_s }}
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: {{ div .dead_s 10 }}
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  periodSeconds: 1
  timeoutSeconds: 2
  failureThreshold: {{ .unready_s }}
{{- end -}}
