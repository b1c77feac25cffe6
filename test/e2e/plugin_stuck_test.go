//go:build e2e

package e2e

// Where Pods run. Simulated Pods cost nothing: no container starts, and they are ready when their readiness gates are.
const (
	simulated = "nodeSelector: {kubernetes.io/hostname: kwok-1}\n      tolerations: [{operator: Exists}]"
	nowhere   = "nodeSelector: {e2e: none}"
	onNodes   = "terminationGracePeriodSeconds: 1"
)

// one returns a CloneSet with one Pod.
func one(name, where string, replacements ...string) string {
	return manifest(name, append(replacements, "replicas: 3", "replicas: 1", "terminationGracePeriodSeconds: 5", where)...)
}

// beta replaces the update strategy of the manifest.
func beta(strategy string) []string {
	return []string{"v1alpha1", "v1beta1", "  updateStrategy:\n    type: InPlaceIfPossible\n    maxUnavailable: 1\n", "  updateStrategy: " + strategy + "\n"}
}

// hooks replaces the start of the spec of the manifest.
func hooks(lifecycle string) []string {
	return []string{"spec:\n  replicas: 3", "spec:\n  lifecycle: " + lifecycle + "\n  replicas: 1"}
}

// lone returns a Pod without a workload. spec has further fields of the Pod, and container those of its container.
func lone(name, where, spec, container string) string {
	return filled(`apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
      WHERE
      SPEC
      containers:
      - {name: main, image: "kruise.local/demo:v1", imagePullPolicy: IfNotPresent, resources: {requests: {cpu: 10m, memory: 16Mi}}CONTAINER}
`, "NAME", name, "WHERE", where, "SPEC", spec, "CONTAINER", container)
}

// holding is a finalizer that keeps what is deleted.
const holding = "e2e.kruise.io/hold"

// guards returns a budget for a workload of the same name.
func guards(kind, name, bound string) string {
	return sprintf("---\napiVersion: policy.kruise.io/v1beta1\nkind: PodUnavailableBudget\nmetadata: {name: %s}\nspec:\n"+
		"  targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: %s, name: %s}\n  %s\n", name, kind, name, bound)
}

// sets returns a StatefulSet of simulated Pods, whose names are known.
func sets(name string, replicas int, spec string) string {
	return filled(`apiVersion: apps.kruise.io/v1beta1
kind: StatefulSet
metadata: {name: NAME}
spec:
  replicas: REPLICAS
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      WHERE
      SPEC
      containers: [{name: main, image: "kruise.local/demo:v1", resources: {requests: {cpu: 10m, memory: 16Mi}}}]
`, "NAME", name, "REPLICAS", sprintf("%d", replicas), "WHERE", simulated, "SPEC", spec)
}

// daemons returns a DaemonSet on the simulated node.
func daemons(name, spec string) string {
	return filled(`apiVersion: apps.kruise.io/v1beta1
kind: DaemonSet
metadata: {name: NAME}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      WHERE
      SPEC
      containers: [{name: main, image: "kruise.local/demo:v1", resources: {requests: {cpu: 10m, memory: 16Mi}}}]
`, "NAME", name, "WHERE", simulated, "SPEC", spec)
}

// quotas forbid Pods by their priority class, and all but one Pod without requests.
const quotas = `apiVersion: v1
kind: ResourceQuota
metadata: {name: none}
spec:
  hard: {pods: "0"}
  scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [system-cluster-critical]}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: one}
spec:
  hard: {pods: "1"}
  scopes: [BestEffort]
`

// withRequests are the requests in the manifest.
const withRequests = "        resources:\n          requests:\n            cpu: 10m\n            memory: 16Mi\n"

const critical = "priorityClassName: system-cluster-critical"
