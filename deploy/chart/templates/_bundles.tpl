{{- define "millrace.bundleEnv" -}}
- {name: MILLRACE_BUNDLE_ROOT, value: /bundles/root}
- {name: MILLRACE_BUNDLE_STORE, value: /bundles/store}
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

{{- define "millrace.storeClaim" -}}
{{- if eq .Values.bundles.store.kind "claim" -}}
{{ include "millrace.fullname" . }}-bundles
{{- else -}}
{{ required "bundles.store.claim names the claim where bundles.store.kind is existingClaim" .Values.bundles.store.claim }}
{{- end -}}
{{- end -}}

{{- define "millrace.bundleVolumes" -}}
{{- if .Values.bundles.rootClaim }}
- {name: bundle-root, persistentVolumeClaim: {claimName: {{ .Values.bundles.rootClaim | quote }}, readOnly: true}}
{{- else }}
- {name: bundle-root, emptyDir: {}}
{{- end }}
{{- if eq .Values.bundles.store.kind "emptyDir" }}
- {name: bundle-store, emptyDir: {sizeLimit: {{ .Values.bundles.store.size | quote }}}}
{{- else }}
- {name: bundle-store, persistentVolumeClaim: {claimName: {{ include "millrace.storeClaim" . | quote }}}}
{{- end }}
{{- with .Values.bundles.caSecret }}
- {name: bundle-ca, secret: {secretName: {{ . | quote }}, defaultMode: 0440, items: [{key: ca.crt, path: ca.crt}]}}
{{- end }}
{{- end -}}
