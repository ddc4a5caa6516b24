{{/* root, client, component: the spec of the Job */}}
{{- define "millrace.topicsJob" -}}
{{- $values := .root.Values -}}
{{- $topics := $values.kafka.topics -}}
backoffLimit: 10
activeDeadlineSeconds: 600
ttlSecondsAfterFinished: 3600
template:
  metadata:
    labels: {{- include "millrace.selector" .component | nindent 6 }}
    annotations: {{- toYaml $topics.podAnnotations | nindent 6 }}
  spec:
    restartPolicy: OnFailure
    automountServiceAccountToken: false
    enableServiceLinks: false
    priorityClassName: {{ $values.priorityClassName | quote }}
    imagePullSecrets: {{- toYaml $values.image.pullSecrets | nindent 6 }}
    securityContext: {{- include "millrace.podSecurity" .root | nindent 6 }}
    containers:
    - name: topics
      image: {{ include "millrace.image" .root | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args:
      - cli
      - topics
      - apply
      - --wait=300
      {{- if $topics.replication }}
      - --replication={{ $topics.replication }}
      {{- end }}
      {{- if $topics.acls }}
      {{- range $service, $_ := include "millrace.services" .root | fromYaml }}
      - {{ printf "--principal=%s=%s" $service (index $values.kafka.clients $service).principal | quote }}
      {{- end }}
      {{- end }}
      env:
      - {name: MILLRACE_BOOTSTRAP_SERVERS, value: {{ include "millrace.brokers" .root | quote }}}
      - {name: MILLRACE_TOPIC_PREFIX, value: {{ $values.kafka.topicPrefix | quote }}}
      - {name: MILLRACE_PARTITIONS, value: {{ $values.kafka.partitions | quote }}}
      {{- include "millrace.kafkaEnv" . | nindent 6 }}
      resources: {requests: {cpu: 50m, memory: 96Mi}, limits: {memory: 256Mi}}
      securityContext: {{- include "millrace.containerSecurity" .root | nindent 8 }}
      volumeMounts:
      - {name: tmp, mountPath: /tmp}
      {{- include "millrace.kafkaMounts" . | nindent 6 }}
    volumes:
    - {name: tmp, emptyDir: {}}
    {{- include "millrace.kafkaVolumes" . | nindent 4 }}
{{- end -}}
