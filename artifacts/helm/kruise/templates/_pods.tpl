{{/* Fields that the Pods of all programs share. Input: dict root, values. */}}
{{- define "kruise.podCommon" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .values.hostNetwork }}
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The securityContext of a container: the level "restricted" of the Pod Security Standards, with a read-only root file system. */}}
{{- define "kruise.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
capabilities: {drop: [ALL]}
{{- end }}

{{/* The seccomp profile, if it is set. */}}
{{- define "kruise.seccomp" -}}
{{- with .Values.seccompProfile }}
seccompProfile:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Affinity that prefers different nodes. Input: the component. */}}
{{- define "kruise.spread" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "kruise.selector" . | nindent 12 }}
{{- end }}

{{/* Flags of all three programs. Input: dict root, values. */}}
{{- define "kruise.commonArgs" -}}
- --v={{ .values.log.level }}
{{- with .values.loggingFormat }}
- --logging-format={{ . }}
{{- end }}
{{- with .root.Values.featureGates }}
- {{ printf "--feature-gates=%s" . | quote }}
{{- end }}
{{- end }}

{{/* Environment variables of all three programs. Input: dict root, values. */}}
{{- define "kruise.commonEnv" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- if dig "limits" "memory" "" (.values.resources | default dict) }}
# Limits the heap, and the quota of an embedded store.
- name: MEMORY_LIMIT
  valueFrom: {resourceFieldRef: {resource: limits.memory}}
{{- end }}
{{- if .root.Values.enableKubeCacheMutationDetector }}
- name: KUBE_CACHE_MUTATION_DETECTOR
  value: "true"
{{- end }}
{{- with .values.extraEnvs }}
{{ toYaml . }}
{{- end }}
{{- end }}
