{{/*
What an account may write of what RBAC allows it, as YAML: name -> rules, validations. Each service
says it in its `policies.yaml`; here is what several of them need.
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

{{/* Validations of an account that writes no more of an object than its status. */}}
{{- define "millrace.statusAlone" -}}
- expression: {{ include "millrace.specKept" . | quote }}
  message: "this account writes the status alone: spec is another's"
- expression: {{ include "millrace.metadataKept" . | quote }}
  message: "this account writes the status alone: annotations and owners are others'"
- expression: {{ include "millrace.labelsKept" . | quote }}
  message: "this account writes the status alone: labels are others'"
- expression: {{ include "millrace.finalizersKept" . | quote }}
  message: "this account writes the status alone: finalizers are others'"
{{- end -}}

{{/* root, service, about */}}
{{- define "millrace.policies" -}}
{{- if .about.hasLease }}
leases:
  rules:
  - {apiGroups: [coordination.k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [leases]}
  validations:
  - expression: object.metadata.name == 'millrace-{{ .service }}'
    message: {{ .service }} has one Lease, millrace-{{ .service }}
{{- end }}
{{ tpl .about.policies .root }}
{{- end -}}
