{{/* root, mount: whether several nodes can have its volume at a time. */}}
{{- define "millrace.isShared" -}}
{{- $store := .root.Values.bundles.store -}}
{{- if and (eq .mount "bundle-store") (ne $store.kind "emptyDir") (eq $store.accessMode "ReadWriteMany") -}}true{{- end -}}
{{- end -}}

{{/* The settings of a service: whether it writes to the store. */}}
{{- define "millrace.keepsStore" -}}
{{- range .mounts -}}
{{- if and (eq .name "bundle-store") (not .read_only) -}}true{{- end -}}
{{- end -}}
{{- end -}}

{{/* What a service has that fetches bundles. */}}
{{- define "millrace.bundlesEnv" -}}
- {name: MILLRACE_BUNDLE_ROOT_URL, value: {{ .Values.bundles.rootUrl | quote }}}
{{- if .Values.bundles.caSecret }}
- {name: MILLRACE_BUNDLE_CA_FILE, value: /etc/millrace/bundles/ca.crt}
{{- end }}
{{- with .Values.bundles.s3.region }}
- {name: AWS_REGION, value: {{ . | quote }}}
{{- end }}
{{- with .Values.bundles.s3.endpoint }}
- {name: AWS_ENDPOINT_URL_S3, value: {{ . | quote }}}
{{- end }}
{{- end -}}

{{- define "millrace.bundlesSecret" -}}
{{ .Values.bundles.s3.secret }}
{{- end -}}

{{- define "millrace.bundlesMounts" -}}
{{- if .Values.bundles.caSecret }}
- {name: bundle-ca, mountPath: /etc/millrace/bundles, readOnly: true}
{{- end }}
{{- end -}}

{{- define "millrace.bundlesVolumes" -}}
{{- with .Values.bundles.caSecret }}
- {name: bundle-ca, secret: {secretName: {{ . | quote }}, defaultMode: 0440, items: [{key: ca.crt, path: ca.crt}]}}
{{- end }}
{{- end -}}

{{- define "millrace.storeClaim" -}}
{{- if eq .Values.bundles.store.kind "claim" -}}
{{ include "millrace.fullname" . }}-bundles
{{- else -}}
{{ required "bundles.store.claim names the claim where bundles.store.kind is existingClaim" .Values.bundles.store.claim }}
{{- end -}}
{{- end -}}

{{/* root, mount: the volume of a mount. */}}
{{- define "millrace.volume" -}}
{{- $bundles := .root.Values.bundles -}}
{{- if and (eq .mount.name "bundle-root") $bundles.rootClaim -}}
{name: bundle-root, persistentVolumeClaim: {claimName: {{ $bundles.rootClaim | quote }}, readOnly: true}}
{{- else if eq .mount.name "bundle-root" -}}
{name: bundle-root, emptyDir: {}}
{{- else if eq $bundles.store.kind "emptyDir" -}}
{name: bundle-store, emptyDir: {sizeLimit: {{ $bundles.store.size | quote }}}}
{{- else -}}
{name: bundle-store, persistentVolumeClaim: {claimName: {{ include "millrace.storeClaim" .root | quote }}{{ if .mount.read_only }}, readOnly: true{{ end }}}}
{{- end -}}
{{- end -}}
