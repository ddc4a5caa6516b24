{{/*
What each account may write of what RBAC allows it, as YAML: name -> account, rules, validations.
docs/security.md has the holes that they close. Keys are those of contracts/labels.py.
*/}}

{{/* Metadata that a service leaves as it is; it may empty managedFields. */}}
{{- define "millrace.metadataKept" -}}
object.metadata.?annotations.orValue({}) == oldObject.metadata.?annotations.orValue({}) &&
object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([])
{{- end -}}

{{- define "millrace.labelsKept" -}}
object.metadata.?labels.orValue({}) == oldObject.metadata.?labels.orValue({})
{{- end -}}

{{- define "millrace.finalizersKept" -}}
object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([])
{{- end -}}

{{- define "millrace.specKept" -}}
object.?spec == oldObject.?spec
{{- end -}}

{{/* Labels but those that an expression of `k` allows, the same before and after. */}}
{{- define "millrace.otherLabelsKept" -}}
object.metadata.?labels.orValue({}).all(k, {{ . }} || oldObject.metadata.?labels[?k] == object.metadata.?labels[?k]) &&
oldObject.metadata.?labels.orValue({}).all(k, {{ . }} || k in object.metadata.?labels.orValue({}))
{{- end -}}

{{- define "millrace.policies" -}}
{{- $unchanged := list
  (dict "expression" (include "millrace.specKept" .) "message" "this account writes the status alone: spec is another's")
  (dict "expression" (include "millrace.metadataKept" .) "message" "this account writes the status alone: annotations and owners are others'")
  (dict "expression" (include "millrace.labelsKept" .) "message" "this account writes the status alone: labels are others'")
  (dict "expression" (include "millrace.finalizersKept" .) "message" "this account writes the status alone: finalizers are others'") -}}
{{- $ours := "streams.ibm.com" -}}
node-tainter-nodes:
  account: node-tainter
  rules:
  - {apiGroups: [""], apiVersions: ["*"], operations: [CREATE, UPDATE, DELETE], resources: ["nodes"]}
  variables:
  - name: taints
    expression: object.spec.?taints.orValue([]).filter(t, t.key != 'streams.ibm.com/exclusive')
  - name: oldTaints
    expression: oldObject.spec.?taints.orValue([]).filter(t, t.key != 'streams.ibm.com/exclusive')
  validations:
  - expression: request.operation == 'UPDATE'
    message: node-tainter neither makes nor removes nodes
  - expression: {{ include "millrace.otherLabelsKept" "k.startsWith('member.streams.ibm.com/')" | quote }}
    message: node-tainter may change labels member.streams.ibm.com/… only
  - expression: variables.taints == variables.oldTaints
    message: node-tainter may change the taint streams.ibm.com/exclusive only
  - expression: >-
      object.spec.?unschedulable == oldObject.spec.?unschedulable &&
      object.spec.?providerID == oldObject.spec.?providerID &&
      object.spec.?podCIDRs == oldObject.spec.?podCIDRs
    message: node-tainter may change taints of a node's spec only
  - expression: {{ include "millrace.metadataKept" . | quote }}
    message: node-tainter may not change annotations and owners of nodes
  - expression: {{ include "millrace.finalizersKept" . | quote }}
    message: node-tainter may not change finalizers of nodes
node-tainter-pools:
  account: node-tainter
  rules:
  - {apiGroups: [{{ $ours }}], apiVersions: ["*"], operations: [UPDATE], resources: [streamshostpools]}
  validations:
  - expression: {{ include "millrace.specKept" . | quote }}
    message: node-tainter may change the finalizer streams.ibm.com/node-claims only
  - expression: {{ printf "%s && %s" (include "millrace.metadataKept" .) (include "millrace.labelsKept" .) | quote }}
    message: node-tainter may change the finalizer streams.ibm.com/node-claims only
  - expression: >-
      object.metadata.?finalizers.orValue([]).filter(f, f != 'streams.ibm.com/node-claims') ==
      oldObject.metadata.?finalizers.orValue([]).filter(f, f != 'streams.ibm.com/node-claims')
    message: node-tainter may change the finalizer streams.ibm.com/node-claims only
hostpool-manager-objects:
  account: hostpool-manager
  rules:
  - apiGroups: [{{ $ours }}]
    apiVersions: ["*"]
    operations: [UPDATE]
    resources: [streamshostpools, streamsplacements]
  validations: {{- toYaml $unchanged | nindent 2 }}
{{- range list "hostpool-manager" "watch-ingest" }}
{{ . }}-leases:
  account: {{ . }}
  rules:
  - {apiGroups: [coordination.k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [leases]}
  validations:
  - expression: object.metadata.name == 'millrace-{{ . }}'
    message: {{ . }} has one Lease, millrace-{{ . }}
{{- end }}
watch-ingest-statuses:
  account: watch-ingest
  rules:
  - apiGroups: [{{ $ours }}]
    apiVersions: ["*"]
    operations: [UPDATE]
    resources: [streamspes/status, streamsprs/status, streamshostpools/status, streamsplacements/status]
  validations:
  - expression: >-
      object.?status.orValue({}).all(k, k == 'conditions' || oldObject.?status[?k] == object.?status[?k]) &&
      oldObject.?status.orValue({}).all(k, k == 'conditions' || k in object.?status.orValue({}))
    message: watch-ingest may change conditions of a status only
pod-state-machine-pods:
  account: pod-state-machine
  rules:
  - {apiGroups: [""], apiVersions: ["*"], operations: [CREATE, UPDATE, DELETE], resources: [pods, pods/resize]}
  variables:
  - name: pod
    expression: "request.operation == 'CREATE' ? object : oldObject"
  - name: isOfPe
    expression: >-
      variables.pod.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false) &&
      o.kind == 'ProcessingElement' && o.apiVersion.startsWith('streams.ibm.com/'))
  - name: spec
    expression: variables.pod.spec
  validations:
  - expression: >-
      variables.isOfPe || (request.operation == 'DELETE' &&
      'streams.ibm.com/job-uid' in variables.pod.metadata.?labels.orValue({}))
    message: pod-state-machine may write pods of ProcessingElements only
  - expression: >-
      request.operation != 'CREATE' || '{{ .Values.podSecurity }}' == 'privileged' ||
      (variables.spec.?serviceAccountName.orValue('default') in ['', 'default'] &&
      !variables.spec.?hostNetwork.orValue(false) && !variables.spec.?hostPID.orValue(false) &&
      !variables.spec.?hostIPC.orValue(false) &&
      !(variables.spec.containers + variables.spec.?initContainers.orValue([])).exists(c,
      c.?securityContext.?privileged.orValue(false)))
    message: pods of jobs have no account, no namespaces of the host and no privileged containers at this level of podSecurity
  - expression: >-
      request.operation != 'CREATE' || '{{ .Values.podSecurity }}' == 'privileged' ||
      !(variables.spec.containers + variables.spec.?initContainers.orValue([])).exists(c,
      c.?ports.orValue([]).exists(p, p.?hostPort.orValue(0) != 0))
    message: pods of jobs have no ports of the host at this level of podSecurity
  - expression: >-
      request.operation != 'CREATE' || '{{ .Values.podSecurity }}' != 'restricted' ||
      !variables.spec.?volumes.orValue([]).exists(v, has(v.hostPath))
    message: pods of jobs have no paths of the host at level restricted
  - expression: >-
      request.operation != 'UPDATE' || request.subResource == 'resize' ||
      object.spec == oldObject.spec
    message: pod-state-machine may not change the spec of a pod
  - expression: {{ printf "request.operation != 'UPDATE' || (%s)" (include "millrace.otherLabelsKept" "k == 'svc'") | quote }}
    message: pod-state-machine may change the label svc of a pod only
  - expression: {{ printf "request.operation != 'UPDATE' || (%s)" (include "millrace.metadataKept" .) | quote }}
    message: pod-state-machine may not change annotations and owners of pods
pod-state-machine-objects:
  account: pod-state-machine
  rules:
  - {apiGroups: [{{ $ours }}], apiVersions: ["*"], operations: [UPDATE], resources: [streamspes]}
  validations: {{- toYaml $unchanged | nindent 2 }}
pe-gateway-statuses:
  account: pe-gateway
  rules:
  - {apiGroups: [{{ $ours }}], apiVersions: ["*"], operations: [UPDATE], resources: [streamspes/status]}
  variables:
  # The first launch has no count before. A higher one would stay, since counts never fall: no later launch could exceed it.
  - name: launch
    expression: "oldObject.?status.?launchCount.orValue(0) == 0 ? 1 : oldObject.?status.?launchCount.orValue(0)"
  # The first report of a launch also states that it runs (services/launching/core/running.py).
  - name: beginsToRun
    expression: >-
      oldObject.?status.?phase.orValue('Waiting') in ['Waiting', 'Starting'] &&
      object.?status.?phase.orValue('') == 'Running' && object.?status.?launchCount.orValue(0) == variables.launch
  # Without a field that such a report writes, every first report of a launch is refused.
  - name: changeable
    expression: >-
      ['connectivity', 'runtime'] + (variables.beginsToRun ? ['phase', 'launchCount', 'pod', 'node', 'contentId',
      'generation', 'observedGeneration', 'observedRestart', 'nextRestartTime', 'reason', 'message', 'conditions'] : [])
  validations:
  - expression: >-
      object.?status.orValue({}).all(k, k in variables.changeable || oldObject.?status[?k] == object.?status[?k]) &&
      oldObject.?status.orValue({}).all(k, k in variables.changeable || k in object.?status.orValue({}))
    message: pe-gateway may change the connectivity and the runtime of a status only, and more when a launch begins to run
pe-gateway-losses:
  account: pe-gateway
  rules:
  - {apiGroups: [{{ $ours }}], apiVersions: ["*"], operations: [UPDATE], resources: [streamsjobs/status]}
  validations:
  - expression: >-
      object.?status.orValue({}).all(k, k == 'losses' || oldObject.?status[?k] == object.?status[?k]) &&
      oldObject.?status.orValue({}).all(k, k == 'losses' || k in object.?status.orValue({}))
    message: pe-gateway may change the losses in the status of a Job only
pe-gateway-objects:
  account: pe-gateway
  rules:
  - {apiGroups: [{{ $ours }}], apiVersions: ["*"], operations: [UPDATE], resources: [streamsjobs, streamspes]}
  validations: {{- toYaml $unchanged | nindent 2 }}
pe-gateway-widths:
  account: pe-gateway
  rules:
  - {apiGroups: [{{ $ours }}], apiVersions: ["*"], operations: [UPDATE], resources: [streamsprs]}
  validations:
  - expression: >-
      object.?spec.orValue({}).all(k, k == 'width' || oldObject.?spec[?k] == object.?spec[?k]) &&
      oldObject.?spec.orValue({}).all(k, k == 'width' || k in object.?spec.orValue({}))
    message: pe-gateway may change the width of a ParallelRegion only
  - expression: {{ printf "%s && %s && %s" (include "millrace.metadataKept" .) (include "millrace.labelsKept" .) (include "millrace.finalizersKept" .) | quote }}
    message: pe-gateway may change the width of a ParallelRegion only
pe-gateway-services:
  account: pe-gateway
  rules:
  - {apiGroups: [""], apiVersions: ["*"], operations: [CREATE, UPDATE, DELETE], resources: [services]}
  variables:
  - name: others
    expression: object.metadata.?annotations.orValue({}).filter(k, k != 'streams.ibm.com/endpoints')
  - name: oldOthers
    expression: oldObject.metadata.?annotations.orValue({}).filter(k, k != 'streams.ibm.com/endpoints')
  validations:
  - expression: "request.operation == 'UPDATE' && 'streams.ibm.com/job-uid' in oldObject.metadata.?labels.orValue({})"
    message: pe-gateway may change Services of Jobs only (label streams.ibm.com/job-uid)
  - expression: {{ printf "%s && %s && %s" (include "millrace.specKept" .) (include "millrace.labelsKept" .) (include "millrace.finalizersKept" .) | quote }}
    message: pe-gateway may change the annotation streams.ibm.com/endpoints of a Service only
  - expression: >-
      variables.others.all(k, oldObject.metadata.?annotations[?k] == object.metadata.?annotations[?k]) &&
      variables.oldOthers.all(k, k in object.metadata.?annotations.orValue({})) &&
      object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([])
    message: pe-gateway may change the annotation streams.ibm.com/endpoints of a Service only
fusion-backend-jobs:
  account: fusion-backend
  rules:
  - {apiGroups: [{{ $ours }}], apiVersions: ["*"], operations: [UPDATE], resources: [streamsjobs]}
  validations: {{- toYaml $unchanged | nindent 2 }}
fusion-backend-children:
  account: fusion-backend
  rules:
  - apiGroups: [""]
    apiVersions: ["*"]
    operations: [CREATE, UPDATE, DELETE]
    resources: [configmaps, secrets, services]
  - apiGroups: [{{ $ours }}]
    apiVersions: ["*"]
    operations: [CREATE, UPDATE, DELETE]
    resources: [streamshostpools, streamspes, streamsplacements, streamsprs]
  variables:
  - name: before
    expression: "request.operation == 'CREATE' ? object : oldObject"
  - name: isOfJob
    expression: >-
      'streams.ibm.com/job-uid' in variables.before.metadata.?labels.orValue({}) ||
      variables.before.metadata.?ownerReferences.orValue([]).exists(o, o.kind == 'Job' &&
      o.apiVersion.startsWith('streams.ibm.com/'))
  - name: isCounter
    expression: "request.resource.resource == 'configmaps' && variables.before.metadata.name == 'millrace-job-ids'"
  validations:
  - expression: variables.isOfJob || variables.isCounter
    message: fusion-backend may write objects of Jobs only (label streams.ibm.com/job-uid)
  - expression: "request.resource.resource != 'secrets' || variables.before.?type.orValue('Opaque') == 'Opaque'"
    message: fusion-backend may write Secrets of type Opaque only, and none with a token of an account
  - expression: >-
      request.resource.resource != 'services' || request.operation == 'DELETE' ||
      object.spec.?type.orValue('ClusterIP') == 'ClusterIP'
    message: fusion-backend may make Services of type ClusterIP only
  - expression: >-
      request.resource.resource != 'services' || request.operation == 'DELETE' ||
      object.spec.?externalIPs.orValue([]).all(ip, request.operation == 'UPDATE' &&
      ip in oldObject.spec.?externalIPs.orValue([]))
    message: fusion-backend may give Services no addresses from outside
{{- end -}}
