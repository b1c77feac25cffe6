{{/* The namespace of the installation. */}}
{{- define "kruise.namespace" -}}
{{ .Values.installation.namespace }}
{{- end }}

{{/* The namespace of the Secrets that node agents use to pull images. */}}
{{- define "kruise.pullSecretsNamespace" -}}
kruise-daemon-config
{{- end }}

{{/* Labels that select the Pods of a program. Input: the program's component name. They never change. */}}
{{- define "kruise.selector" -}}
app.kubernetes.io/name: kruise
app.kubernetes.io/component: {{ . }}
{{- end }}

{{/* Labels of every object. Input: dict root, component. */}}
{{- define "kruise.labels" -}}
{{ include "kruise.selector" .component }}
app.kubernetes.io/part-of: kruise
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- end }}

{{/* The values of the node agent. agent takes precedence over daemon. */}}
{{- define "kruise.agent" -}}
{{ mergeOverwrite (deepCopy .Values.daemon) (deepCopy (.Values.agent | default dict)) | toJson }}
{{- end }}

{{/* "true" for an image of another Kruise, which contains other programs. */}}
{{- define "kruise.foreignImage" -}}
{{- if regexMatch "(^|/)kruise-manager$" (. | default "") }}true{{ end -}}
{{- end }}

{{/* A program's image. Input: dict root, program, image. */}}
{{- define "kruise.image" -}}
{{- $image := .image | default dict -}}
{{- if include "kruise.foreignImage" $image.repository }}{{ $image = dict }}{{ end -}}
{{- $repository := $image.repository | default (printf "%s/%s" .root.Values.image.registry .program) -}}
{{- $tag := $image.tag | default .root.Values.image.tag | default .root.Chart.AppVersion -}}
{{- $repository }}{{ hasPrefix "sha256:" $tag | ternary "@" ":" }}{{ $tag -}}
{{- end }}

{{/* The feature gates that decide what is rendered, with the defaults of the programs, in JSON. */}}
{{- define "kruise.gates" -}}
{"KruiseDaemon":{"on":true,"all":"AllBeta"},
"ResourcesDeletionProtection":{"on":true,"all":"AllAlpha"},
"DeletionProtectionForCRDCascadingGate":{"on":true,"all":"AllAlpha"},
"ResourceDistributionGate":{"on":true,"all":"AllAlpha"},
"PodWebhook":{"on":true,"all":"AllBeta"},
"KruisePodReadinessGate":{"on":false,"all":"AllAlpha"},
"EnablePodProbeMarkerOnServerless":{"on":false,"all":"AllAlpha"},
"PodUnavailableBudgetDeleteGate":{"on":true,"all":"AllAlpha"},
"PodUnavailableBudgetUpdateGate":{"on":false,"all":"AllAlpha"},
"WorkloadSpread":{"on":true,"all":"AllAlpha"}}
{{- end }}

{{/* "true" if a gate is on. As in the programs, the last value of a gate counts, and AllAlpha or AllBeta only counts for gates without a value. Input: dict root, gate. */}}
{{- define "kruise.gateEnabled" -}}
{{- $gate := .gate -}}
{{- $known := get (include "kruise.gates" . | fromJson) $gate -}}
{{- $enabled := $known.on -}}
{{- $named := false -}}
{{- range splitList "," (.root.Values.featureGates | default "") -}}
{{- $pair := splitList "=" (trim .) -}}
{{- $value := not (has (trim (last $pair)) (list "false" "False" "FALSE" "f" "F" "0")) -}}
{{- if eq (trim (first $pair)) $gate -}}
{{- $enabled = $value -}}
{{- $named = true -}}
{{- else if and (eq (trim (first $pair)) $known.all) (not $named) -}}
{{- $enabled = $value -}}
{{- end -}}
{{- end -}}
{{- if $enabled }}true{{ end -}}
{{- end }}

{{/* "true" unless featureGates turns KruiseDaemon off. */}}
{{- define "kruise.agentEnabled" -}}
{{ include "kruise.gateEnabled" (dict "root" . "gate" "KruiseDaemon") }}
{{- end }}

{{/* "true" if a gate of budgets is on. The gate PodWebhook can turn it off. Input: dict root, gate. */}}
{{- define "kruise.budgetGate" -}}
{{- if include "kruise.gateEnabled" (dict "root" .root "gate" "PodWebhook") }}{{ include "kruise.gateEnabled" . }}{{ end -}}
{{- end }}

{{/* "true" if deletion protection is on. */}}
{{- define "kruise.deletionProtected" -}}
{{ include "kruise.gateEnabled" (dict "root" . "gate" "ResourcesDeletionProtection") }}
{{- end }}

{{/* "true" when the store is embedded in the apiserver. */}}
{{- define "kruise.embedded" -}}
{{- if or (not .Values.storage.etcd.endpoints) (eq .Values.storage.move "toEmbedded") }}true{{ end -}}
{{- end }}

{{/* How many apiservers run. */}}
{{- define "kruise.apiserverReplicas" -}}
{{- if .Values.storage.move }}1{{ else if kindIs "invalid" .Values.apiserver.replicas }}{{ empty (include "kruise.embedded" .) | ternary 2 1 }}{{ else }}{{ .Values.apiserver.replicas }}{{ end -}}
{{- end }}

{{/* The flags that name the etcd cluster. Input: dict root; before, the beginning of each flag. */}}
{{- define "kruise.etcdArgs" -}}
{{- $etcd := .root.Values.storage.etcd -}}
- {{ .before }}etcd-servers={{ join "," $etcd.endpoints }}
{{- with $etcd.prefix }}
- {{ $.before }}etcd-prefix={{ . }}
{{- end }}
- {{ .before }}etcd-cafile=/etc/kruise/etcd/ca.crt
- {{ .before }}etcd-certfile=/etc/kruise/etcd/tls.crt
- {{ .before }}etcd-keyfile=/etc/kruise/etcd/tls.key
{{- end }}

{{/* The store of the objects, described so that two stores have different descriptions. */}}
{{- define "kruise.store" -}}
{{- if include "kruise.embedded" . -}}
the embedded store in the volume of claim {{ .Values.storage.embedded.persistentVolumeClaim.existingClaim | default "kruise-apiserver-data" }}
{{- else -}}
etcd{{ with .Values.storage.etcd.prefix }} below the prefix {{ . }}{{ end }}
{{- end -}}
{{- end }}

{{/* The same for the installed store, taken from the running Deployment or from the claim of an earlier installation. Empty if there is none. */}}
{{- define "kruise.installedStore" -}}
{{- $namespace := include "kruise.namespace" . -}}
{{- $deployment := lookup "apps/v1" "Deployment" $namespace "kruise-apiserver" -}}
{{- if $deployment -}}
{{- $claim := "" -}}
{{- $prefix := "" -}}
{{- range $deployment.spec.template.spec.volumes -}}
{{- if eq .name "data" -}}{{- $claim = dig "persistentVolumeClaim" "claimName" "" . -}}{{- end -}}
{{- end -}}
{{- range $container := $deployment.spec.template.spec.containers -}}
{{- range $container.args -}}
{{- if hasPrefix "--etcd-prefix=" . -}}{{- $prefix = trimPrefix "--etcd-prefix=" . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if $claim -}}
the embedded store in the volume of claim {{ $claim }}
{{- else -}}
etcd{{ with $prefix }} below the prefix {{ . }}{{ end }}
{{- end -}}
{{- else if lookup "v1" "PersistentVolumeClaim" $namespace "kruise-apiserver-data" -}}
the embedded store in the volume of claim kruise-apiserver-data
{{- end -}}
{{- end }}

{{/* The Secret whose files are the apiserver's certificate; empty when it manages its own. */}}
{{- define "kruise.tlsSecret" -}}
{{- if .Values.apiService.certManager.enabled }}kruise-apiserver-tls{{ else }}{{ .Values.apiService.tlsSecret }}{{ end -}}
{{- end }}

{{/* The API groups that are served, as a list in JSON. */}}
{{- define "kruise.groups" -}}
["apps.kruise.io","policy.kruise.io"]
{{- end }}

{{/* What is served through an APIService, as a list of group and version in JSON. */}}
{{- define "kruise.apiServices" -}}
{{- $served := list -}}
{{- range $group := include "kruise.groups" . | fromJsonArray -}}
{{- range $version := list "v1alpha1" "v1beta1" -}}
{{- $served = append $served (dict "group" $group "version" $version) -}}
{{- end -}}
{{- end -}}
{{- append $served (dict "group" "admission.kruise.io" "version" "v1") | toJson -}}
{{- end }}

{{/* How kube-apiserver sends us reviews of its own objects: through its aggregation layer. Input: the kind of review. */}}
{{- define "kruise.reviewedBy" -}}
admissionReviewVersions: [v1]
clientConfig:
  service: {name: kubernetes, namespace: default, port: 443, path: /apis/admission.kruise.io/v1/{{ . }}}
sideEffects: None
matchPolicy: Equivalent
{{- end }}

{{/*
Excludes kube-system and our namespace from reviews of Pods. Otherwise our Pods would need our own answer to start. Excludes also the
namespaces of control planes, whose Pods must be able to change while we do not answer.
*/}}
{{- define "kruise.podNamespaces" -}}
namespaceSelector:
  matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, {{ include "kruise.namespace" . }}]}
    - {key: control-plane, operator: DoesNotExist}
{{- end }}
