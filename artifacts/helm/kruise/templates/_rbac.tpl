{{/* A service account. Input: dict root, component, name. */}}
{{- define "kruise.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ include "kruise.namespace" .root }}
  labels:
    {{- include "kruise.labels" . | nindent 4 }}
  {{- with .root.Values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* The rules in a file of files/rbac. Input: dict root, file. */}}
{{- define "kruise.rules" -}}
rules:
  {{- .root.Files.Get (printf "files/rbac/%s.yaml" .file) | fromYamlArray | toYaml | nindent 2 }}
{{- end }}

{{/* A binding's role and subject. Input: dict root, kind, name, account. */}}
{{- define "kruise.binding" -}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: {{ .kind }}, name: {{ .name }}}
subjects:
  - {kind: ServiceAccount, name: {{ .account }}, namespace: {{ include "kruise.namespace" .root }}}
{{- end }}

{{/* A cluster-wide role and its binding. Input: dict root, component, name, account, file. */}}
{{- define "kruise.clusterRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .name }}
  labels:
    {{- include "kruise.labels" . | nindent 4 }}
{{ include "kruise.rules" . }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}binding
  labels:
    {{- include "kruise.labels" . | nindent 4 }}
{{ include "kruise.binding" (merge (dict "kind" "ClusterRole") .) }}
{{- end }}

{{/* A cluster-wide role that aggregates all ClusterRoles with a label, and its binding. Input: dict root, component, name, account,
label, and binding, by default the name. */}}
{{- define "kruise.aggregatedRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .name }}
  labels:
    {{- include "kruise.labels" . | nindent 4 }}
aggregationRule:
  clusterRoleSelectors:
    - matchLabels: { {{- .label }}: "true"}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .binding | default .name }}
  labels:
    {{- include "kruise.labels" . | nindent 4 }}
{{ include "kruise.binding" (merge (dict "kind" "ClusterRole") .) }}
{{- end }}

{{/* A role in one namespace, by default that of the installation, and its binding. Input: dict root, component, name, account, file, namespace. */}}
{{- define "kruise.role" -}}
{{- $namespace := .namespace | default (include "kruise.namespace" .root) -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ $namespace }}
  labels:
    {{- include "kruise.labels" . | nindent 4 }}
{{ include "kruise.rules" . }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}binding
  namespace: {{ $namespace }}
  labels:
    {{- include "kruise.labels" . | nindent 4 }}
{{ include "kruise.binding" (merge (dict "kind" "Role") .) }}
{{- end }}

{{/* A PodDisruptionBudget that allows one unavailable Pod. Input: dict root, component, name. */}}
{{- define "kruise.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  namespace: {{ include "kruise.namespace" .root }}
  labels:
    {{- include "kruise.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "kruise.selector" .component | nindent 6 }}
{{- end }}
