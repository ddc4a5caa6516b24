{{/* Names and labels. Every template that is called with a dict has the chart's context in `root`. */}}

{{- define "millrace.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 40 | trimAll "-." }}
{{- else if contains "millrace" .Release.Name -}}
{{ .Release.Name | trunc 40 | trimAll "-." }}
{{- else -}}
{{ printf "%s-millrace" .Release.Name | trunc 40 | trimAll "-." }}
{{- end -}}
{{- end -}}

{{/* What the names of objects of the cluster begin with: releases in two namespaces may be alike. */}}
{{- define "millrace.ofCluster" -}}
{{ include "millrace.fullname" . }}.{{ .Release.Namespace }}
{{- end -}}

{{/* root, component */}}
{{- define "millrace.selector" -}}
app.kubernetes.io/name: millrace
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* root, component */}}
{{- define "millrace.labels" -}}
{{ include "millrace.selector" . }}
app.kubernetes.io/part-of: millrace
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "millrace.image" -}}
{{- if .Values.image.digest -}}
{{ printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end -}}
{{- end -}}

{{/* root, path: whether the value of this path is set; without a path it is. */}}
{{- define "millrace.isSet" -}}
{{- $found := .root.Values -}}
{{- range splitList "." .path | compact -}}
{{- $found = index $found . -}}
{{- end -}}
{{- if $found -}}true{{- end -}}
{{- end -}}

{{/* The services of this release, as YAML: name -> module, rules, … with the ports and mounts that it has. */}}
{{- define "millrace.services" -}}
{{- $services := dict -}}
{{- range $service, $about := .Files.Get "files/services.yaml" | fromYaml -}}
{{- if include "millrace.isSet" (dict "root" $ "path" $about.enabled) -}}
{{- $ports := list -}}
{{- range $about.ports -}}
{{- if include "millrace.isSet" (dict "root" $ "path" (.switch | default "")) -}}
{{- $ports = append $ports . -}}
{{- end -}}
{{- end -}}
{{- $mounts := list -}}
{{- range $about.mounts -}}
{{- if or (not .optional) (include "millrace.isShared" (dict "root" $ "mount" .name)) -}}
{{- $mounts = append $mounts . -}}
{{- end -}}
{{- end -}}
{{- $about = set (set $about "ports" $ports) "mounts" $mounts -}}
{{- $services = set $services $service $about -}}
{{- end -}}
{{- end -}}
{{ toYaml $services }}
{{- end -}}

{{- define "millrace.brokers" -}}
{{- if .Values.kafka.embedded.enabled -}}
{{ printf "%s-kafka.%s.svc:9092" (include "millrace.fullname" .) .Release.Namespace }}
{{- else if .Values.kafka.bootstrapServers -}}
{{ .Values.kafka.bootstrapServers }}
{{- else -}}
{{ fail "no Kafka is named: set kafka.bootstrapServers to HOST:PORT[,HOST:PORT], or kafka.embedded.enabled to true for a trial" }}
{{- end -}}
{{- end -}}

{{/* A setting as text: a large number must not become 1.6e+09. */}}
{{- define "millrace.text" -}}
{{- if kindIs "string" . -}}{{ . | quote }}{{- else -}}{{ . | toJson | quote }}{{- end -}}
{{- end -}}

{{/* The port of the collector of spans: that of its URL, or its scheme's. */}}
{{- define "millrace.tracingPort" -}}
{{- $url := urlParse .Values.tracing.endpoint -}}
{{- if contains ":" $url.host -}}
{{ splitList ":" $url.host | last }}
{{- else -}}
{{ eq $url.scheme "https" | ternary 443 80 }}
{{- end -}}
{{- end -}}

{{/* Peers of a NetworkPolicy: the pods of Jobs. Anybody who creates pods there can label them so. */}}
{{- define "millrace.pes" -}}
- podSelector: {matchLabels: {app: streams, svc: pe}}
{{- if .Values.namespaces }}
  namespaceSelector:
    matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: In, values: {{ .Values.namespaces | toJson }}}
{{- else }}
  namespaceSelector: {}
{{- end }}
{{- end -}}
