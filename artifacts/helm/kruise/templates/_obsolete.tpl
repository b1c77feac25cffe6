{{/* One line for each value that is accepted and has no effect. */}}
{{- define "kruise.obsolete" -}}
{{- $values := .Values -}}
{{- $obsolete := list
  (list "crds" "" "there are no CustomResourceDefinitions: the kinds are served by kruise-apiserver")
  (list "manager.webhook" (dig "webhook" "" $values.manager) "no program serves webhooks on a port of its own")
  (list "webhookConfiguration" "" "see podUnavailableBudget and podCreation; new Pods wait for the apiserver in namespaces with the label admission.kruise.io/pod-failure-policy=Fail alone")
  (list "helmHooks" "" "there are no hooks: the store outlives the release")
  (list "daemon.windowsImage" (dig "windowsImage" "" $values.daemon) "the node agent runs on Linux") -}}
{{- range $obsolete }}
{{- $set := ternary (get $values (first .)) (index . 1) (not (contains "." (first .))) }}
{{- if $set }}
- {{ first . }}: {{ last . }}
{{- end }}
{{- end }}
{{- range $program := list "manager" "daemon" }}
{{- $repository := dig "image" "repository" "" (get $values $program) }}
{{- if include "kruise.foreignImage" $repository }}
- {{ $program }}.image: {{ $repository }} holds other programs; each of ours has an image of its own under image.registry
{{- end }}
{{- end }}
{{- $known := list "installation" "featureGates" "enableKubeCacheMutationDetector" "image" "imagePullSecrets" "serviceAccount" "seccompProfile" "apiserver" "storage" "apiService" "podUnavailableBudget" "podCreation" "externalCerts" "manager" "daemon" "agent" "networkPolicy" "deletionProtection" "crds" "webhookConfiguration" "helmHooks" "global" }}
{{- range $name := keys $values | sortAlpha }}
{{- if not (has $name $known) }}
- {{ $name }}: this chart has no such value
{{- end }}
{{- end }}
{{- end }}
