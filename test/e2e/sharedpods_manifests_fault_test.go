//go:build e2e && fault

package e2e

import (
	"math/rand/v2"
	"regexp"
	"strings"
)

// shared is an object that users of TestKindsShareTheirPods change. In its manifest, <a|b|c> stands for one of these values. The first one
// is what the users want at the end.
type shared struct{ resource, name, text string }

// sharedObjects are the workloads of the test, and the objects that act on the Pods of other workloads. NAMESPACE is the test's namespace.
var sharedObjects = []shared{
	{"clonesets.apps.kruise.io", "clones", `apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
spec:
  replicas: <4|0|2|6>
  updateStrategy: {type: <InPlaceIfPossible|ReCreate>, maxUnavailable: <1|50%>, maxSurge: <0|2>, partition: <0|2|50%>, paused: <false|false|true>}
  lifecycle: {<|preDelete: {labelsHandler: {hook: "on"}}|inPlaceUpdate: {labelsHandler: {hook: "on"}}>}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}]
` + sharedTemplate("clones")},
	{"clonesets.apps.kruise.io", "spread", `apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
spec:
  replicas: <5|1|8>
  updateStrategy: {rollingUpdate: {podUpdatePolicy: <InPlaceIfPossible|ReCreate>, maxUnavailable: <2|50%>}}
` + sharedTemplate("spread")},
	{"statefulsets.apps.kruise.io", "states", `apiVersion: apps.kruise.io/v1beta1
kind: StatefulSet
metadata:
  annotations: {kruise.io/auto-generate-persistent-pod-state: "<true|false>", kruise.io/required-persistent-topology: kubernetes.io/hostname}
spec:
  replicas: <4|0|2|5>
  serviceName: states
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}]
  persistentVolumeClaimRetentionPolicy: {whenScaled: <Delete|Retain>, whenDeleted: <Delete|Retain>}
  podManagementPolicy: Parallel
  reserveOrdinals: [<1|1, 2|>]
  updateStrategy: {rollingUpdate: {podUpdatePolicy: <InPlaceIfPossible|ReCreate>, maxUnavailable: <1|2>, partition: <0|2>, paused: <false|true>}}
  lifecycle: {<|preDelete: {labelsHandler: {hook: "on"}}|inPlaceUpdate: {labelsHandler: {hook: "on"}}>}
` + strings.Replace(sharedTemplate("states"), "      nodeSelector", "      readinessGates: [{conditionType: InPlaceUpdateReady}]\n      nodeSelector", 1)},
	{"daemonsets.apps.kruise.io", "daemons", `apiVersion: apps.kruise.io/v1alpha1
kind: DaemonSet
spec:
  updateStrategy: {type: <RollingUpdate|OnDelete>, rollingUpdate: {rollingUpdateType: <Standard|InPlaceIfPossible>, maxUnavailable: <1|2>, partition: <0|1>, paused: <false|true>}}
` + sharedTemplate("daemons")},
	{"uniteddeployments.apps.kruise.io", "united", `apiVersion: apps.kruise.io/v1alpha1
kind: UnitedDeployment
spec:
  replicas: <6|2|9>
  selector: {matchLabels: {app: united}}
  template:
    cloneSetTemplate:
      metadata: {labels: {app: united}}
      spec:
        updateStrategy: {type: <InPlaceIfPossible|ReCreate>, maxUnavailable: 50%}
` + indented("      ", sharedTemplate("united")) + `
  topology:
    subsets: [{name: a, replicas: <2|1|50%>}, {name: b}<|, {name: c}>]
`},
	{"broadcastjobs.apps.kruise.io", "broadcast", `apiVersion: apps.kruise.io/v1beta1
kind: BroadcastJob
spec:
  parallelism: <100%|1|0>
  paused: <false|true>
  completionPolicy: {type: Never}
  failurePolicy: {type: Continue}
` + strings.NewReplacer("<r1|r2|r3>", "r1", "<a|b>", "a", "      nodeSelector", "      restartPolicy: Never\n      nodeSelector").Replace(sharedPodTemplate("broadcast"))},
	{"deployments.apps", "plain", `apiVersion: apps/v1
kind: Deployment
spec:
  replicas: <3|1|5>
` + sharedTemplate("plain")},
	{"sidecarsets.apps.kruise.io", "NAMESPACE-shared", `apiVersion: apps.kruise.io/v1alpha1
kind: SidecarSet
spec:
  selector: {matchLabels: {shared: all}}
  namespace: NAMESPACE
  containers: [{name: agent, image: "kruise.local/demo:<r1|r2|r3>"}]
  updateStrategy: {type: RollingUpdate, maxUnavailable: <50%|1>, partition: <0|50%>, paused: <false|true>}
`},
	{"podunavailablebudgets.policy.kruise.io", "clones", `apiVersion: policy.kruise.io/v1alpha1
kind: PodUnavailableBudget
spec:
  targetRef: {apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: clones}
  maxUnavailable: <50%|1>
`},
	{"podunavailablebudgets.policy.kruise.io", "plain", `apiVersion: policy.kruise.io/v1alpha1
kind: PodUnavailableBudget
spec:
  selector: {matchLabels: {app: plain}}
  maxUnavailable: <2|50%>
`},
	{"workloadspreads.apps.kruise.io", "spread", `apiVersion: apps.kruise.io/v1alpha1
kind: WorkloadSpread
spec:
  targetRef: {apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: spread}
  subsets:
  - {name: a, maxReplicas: <2|1|3>, patch: {metadata: {labels: {subset: a}}}}
  - {name: b, patch: {metadata: {labels: {subset: b}}}}
`},
	{"podprobemarkers.apps.kruise.io", "probes", `apiVersion: apps.kruise.io/v1alpha1
kind: PodProbeMarker
spec:
  selector: {matchLabels: {app: clones}}
  probes: [{name: idle, containerName: main, podConditionType: e2e/idle, probe: {exec: {command: [/demo, <idle|busy>]}}}]
`},
	{"imagepulljobs.apps.kruise.io", "pull", `apiVersion: apps.kruise.io/v1beta1
kind: ImagePullJob
spec:
  image: kruise.local/demo:<r1|r2>
  parallelism: <2|1>
  selector: {matchLabels: {e2e: NAMESPACE}}
  completionPolicy: {type: Never}
`},
	{"imagelistpulljobs.apps.kruise.io", "pulls", `apiVersion: apps.kruise.io/v1beta1
kind: ImageListPullJob
spec:
  images: ["kruise.local/demo:<r1|r2>", "kruise.local/demo:r3"<|, "kruise.local/demo:v1">]
  parallelism: <2|1>
  selector: {matchLabels: {e2e: NAMESPACE}}
  completionPolicy: {type: Never}
`},
	{"resourcedistributions.apps.kruise.io", "NAMESPACE-shared", `apiVersion: apps.kruise.io/v1alpha1
kind: ResourceDistribution
spec:
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: <high|low>}}
  targets: {includedNamespaces: {list: [{name: NAMESPACE}]}}
`},
}

// sharedTemplate is the selector and the Pod template of a workload.
func sharedTemplate(app string) string {
	return "  selector: {matchLabels: {app: " + app + "}}\n" + sharedPodTemplate(app)
}

// sharedPodTemplate is the Pod template of a workload.
func sharedPodTemplate(app string) string {
	return strings.ReplaceAll(`  template:
    metadata: {labels: {app: APP, shared: all, hook: "on"}}
    spec:
      nodeSelector: {type: kwok}
      tolerations: [{operator: Exists}]
      terminationGracePeriodSeconds: <1|5>
      containers: [{name: main, image: "kruise.local/demo:<r1|r2|r3>", env: [{name: ROUND, value: "<a|b>"}]}]
`, "APP", app)
}

func indented(by, text string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by)
}

var choices = regexp.MustCompile(`<[^<>]*\|[^<>]*>`)

// manifest returns the manifest with one of the values for each choice.
func (s shared) manifest(namespace string, choose func(values int) int) string {
	text := choices.ReplaceAllStringFunc(s.text, func(choice string) string {
		values := strings.Split(choice[1:len(choice)-1], "|")
		return values[choose(len(values))]
	})
	metadata := "metadata:\n  name: " + s.name + "\n"
	if strings.Contains(text, "\nmetadata:\n") {
		text = strings.Replace(text, "metadata:\n", metadata, 1)
	} else {
		text = strings.Replace(text, "\nspec:", "\n"+metadata+"spec:", 1)
	}
	return strings.ReplaceAll(text, "NAMESPACE", namespace)
}

// atRandom chooses any value.
func atRandom(random *rand.Rand) func(int) int { return random.IntN }

// wanted chooses the first value.
func wanted(int) int { return 0 }
