{{/* One line for each value that is accepted but has no effect. */}}
{{- define "kruise.obsolete" -}}
{{- $values := .Values -}}
{{- $obsolete := list
  (list "crds" "" "there are no CustomResourceDefinitions, because kruise-apiserver serves the kinds")
  (list "manager.webhook" (dig "webhook" "" $values.manager) "the manager serves no webhooks")
  (list "webhookConfiguration" "" "use podUnavailableBudget and podCreation; new Pods need the apiserver only in namespaces with the label admission.kruise.io/pod-failure-policy=Fail")
  (list "helmHooks" "" "the chart has no hooks")
  (list "daemon.windowsImage" (dig "windowsImage" "" $values.daemon) "the node agent runs only on Linux") -}}
{{- range $obsolete }}
{{- $set := ternary (get $values (first .)) (index . 1) (not (contains "." (first .))) }}
{{- if $set }}
- {{ first . }}: {{ last . }}
{{- end }}
{{- end }}
{{- range $program := list "manager" "daemon" }}
{{- $repository := dig "image" "repository" "" (get $values $program) }}
{{- if include "kruise.foreignImage" $repository }}
- {{ $program }}.image: {{ $repository }} contains other programs; the programs of this chart are separate images below image.registry
{{- end }}
{{- end }}
{{- $known := list "installation" "featureGates" "enableKubeCacheMutationDetector" "image" "imagePullSecrets" "serviceAccount" "seccompProfile" "apiserver" "storage" "apiService" "podUnavailableBudget" "podCreation" "externalCerts" "manager" "daemon" "agent" "networkPolicy" "deletionProtection" "monitoring" "takeover" "crds" "webhookConfiguration" "helmHooks" "global" }}
{{- range $name := keys $values | sortAlpha }}
{{- if not (has $name $known) }}
- {{ $name }}: this chart has no such value
{{- end }}
{{- end }}
{{- /* The schema refuses unknown values of the other sections. Other Kruise charts have these sections too. */}}
{{- $program := list "image" "hostNetwork" "log" "loggingFormat" "enablePprof" "pprofAddr" "resources" "priorityClassName" "nodeSelector" "tolerations" "extraArgs" "extraEnvs" }}
{{- $agent := concat $program (list "port" "bindAddress" "socketLocation" "socketFile" "credentialProvider" "affinity" "securityContext" "windowsImage") }}
{{- $manager := concat $program (list "replicas" "metrics" "healthProbe" "pullSecretNamespaces" "restConfig" "resyncPeriod" "nodeAffinity" "topologySpreadConstraints" "webhook") }}
{{- $sections := dict "manager" $manager "daemon" $agent "agent" $agent
  "installation" (list "namespace" "createNamespace" "roleListGroups" "editorsPullImages") }}
{{- range $section := keys $sections | sortAlpha }}
{{- range $name := keys (get $values $section | default dict) | sortAlpha }}
{{- if not (has $name (get $sections $section)) }}
- {{ $section }}.{{ $name }}: this chart has no such value
{{- end }}
{{- end }}
{{- end }}
{{- end }}
