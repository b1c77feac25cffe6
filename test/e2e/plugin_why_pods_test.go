//go:build e2e

package e2e

import (
	"context"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

const hook = "; remove it from the Pod when the work of the hook is done"

// stuckPods are Pods that make no progress, some of them asked about by their workloads.
var stuckPods = []stuck{
	{object: "pod/leaving", manifest: strings.Replace(lone("leaving", nowhere, "", ""), "{name: leaving", "{finalizers: ["+holding+"], name: leaving", 1),
		change: deleted("pod/leaving"),
		want:   "Pod leaving is being deleted and has the finalizer " + holding + "; remove the finalizer when its owner has finished"},
	{object: "pod/ended", manifest: lone("ended", onNodes, "restartPolicy: Never", ", args: [none]"),
		want: "Pod ended has ended with the phase Failed; look at its logs: it does not run again"},
	{object: "clone/draining", manifest: one("draining", simulated, append(hooks("{preDelete: {labelsHandler: {hold: \"on\"}}}"), marked("draining")...)...),
		change: patched("draining", 1, `{"spec":{"replicas":0}}`),
		want: "CloneSet draining waits for Pod draining-#####, which is held by its preDelete hook in state PreparingDelete: it has the label " +
			"hold=on" + hook},
	{object: "clone/hooked", manifest: one("hooked", simulated, append(hooks("{inPlaceUpdate: {labelsHandler: {hold: \"on\"}}}"), marked("hooked")...)...),
		change: served("hooked", 1),
		want: "CloneSet hooked waits for Pod hooked-#####, which is held by its inPlaceUpdate hook in state PreparingUpdate: it has the label " +
			"hold=on" + hook},
	{object: "clone/after", manifest: one("after", simulated, hooks("{inPlaceUpdate: {labelsHandler: {hold: \"on\"}}}")...),
		change: served("after", 1),
		want: "CloneSet after waits for Pod after-#####, which waits for its inPlaceUpdate hook in state Updated: it does not have the label " +
			"hold=on; add it to the Pod when the work of the hook is done"},
	{object: "clone/fresh", manifest: one("fresh", simulated, hooks("{preNormal: {labelsHandler: {hold: \"on\"}}}")...),
		want: "CloneSet fresh waits for Pod fresh-#####, which waits for its preNormal hook in state PreparingNormal: it does not have the label " +
			"hold=on; add it to the Pod when the work of the hook is done"},
	{object: "pod/gated", manifest: lone("gated", nowhere, "schedulingGates: [{name: e2e.kruise.io/wait}]", ""),
		want: "Pod gated has no node: it has the scheduling gate e2e.kruise.io/wait; ask the program that removes this gate"},
	{object: "pod/unseen", manifest: lone("unseen", nowhere, "schedulerName: none", ""),
		want: "Pod unseen has no node: scheduler none has not tried to find one; check that this scheduler runs"},
	{object: "clone/image", manifest: one("image", onNodes, "demo:v1", "demo:none"),
		want: "CloneSet image waits for Pod image-#####, which cannot start container main with image kruise.local/demo:none: " +
			"ErrImagePull or ImagePullBackOff; correct the Pod template"},
	{object: "pod/ordered", manifest: launchHeld,
		want: "Pod ordered holds container main back until those above priority 0 are ready; make the containers with a higher priority ready"},
	{object: "clone/secret", manifest: one("secret", onNodes, "        ports:",
		"        env: [{name: A, valueFrom: {secretKeyRef: {name: none, key: a}}}]\n        ports:"),
		want: "CloneSet secret waits for Pod secret-#####, which cannot start container main with image kruise.local/demo:v1: " +
			`CreateContainerConfigError: secret "none" not found; correct the Pod template`},
	{object: "clone/mount", manifest: one("mount", onNodes+"\n      volumes: [{name: none, secret: {secretName: none}}]",
		"        ports:", "        volumeMounts: [{name: none, mountPath: /none}]\n        ports:"),
		want: "CloneSet mount waits for Pod mount-#####, which has a container main that does not run: FailedMount: MountVolume.SetUp failed " +
			`for volume "none" : secret "none" not found; correct the cause`},
	{object: "clone/crash", manifest: one("crash", onNodes, "        ports:", "        args: [none]\n        ports:"),
		want: "CloneSet crash waits for Pod crash-#####, which has a container main that has ended N times; run: kubectl logs crash-##### -c main " +
			"--previous"},
	{object: "clone/grace", manifest: one("grace", simulated, "  template:", "    inPlaceUpdateStrategy: {gracePeriodSeconds: 600}\n  template:"),
		change: served("grace", 1),
		want: "CloneSet grace waits for Pod grace-#####, which is out of service for the grace period of its update in place; wait, or shorten " +
			"gracePeriodSeconds"},
	{object: "pod/benched", manifest: lone("benched", simulated, "readinessGates: [{conditionType: KruisePodReady}]", ""),
		change: reports("pod/benched", `{"conditions":[{"type":"KruisePodReady","status":"False","message":"[{\"userAgent\":\"e2e\",\"key\":\"drain\"}]"}]}`),
		want:   "Pod benched is kept out of service by e2e/drain; wait for that party, or let it finish"},
	{object: "pod/gate", manifest: lone("gate", simulated, "readinessGates: [{conditionType: e2e.kruise.io/ok}]", ""),
		want: "Pod gate has the readiness gate e2e.kruise.io/ok, which is not True; ask the program that sets this condition"},
	{object: "pod/probe", manifest: lone("probe", onNodes, "", ", readinessProbe: {tcpSocket: {port: 1}}"),
		want: "Pod probe has a container main that runs but is not ready; check its readiness probe"},
	{object: "clone/young", manifest: one("young", simulated, "  replicas: 3", "  minReadySeconds: 3600\n  replicas: 1"),
		want: "CloneSet young waits for Pod young-#####, which is ready and counts as available in TIME; wait"},
	{object: "pod/warned", manifest: lone("warned", onNodes, "", ", livenessProbe: {tcpSocket: {port: 1}, periodSeconds: 1, failureThreshold: 1000}"),
		want: "Pod warned has a warning: Unhealthy: Liveness probe failed: dial tcp ADDRESS: connect: connection refused; correct the cause"},
	{object: "pod/kept-0", manifest: sets("kept", 1, "") + guards("StatefulSet", "kept", "minAvailable: 1"),
		want: "Pod kept-0 is available, and PodUnavailableBudget kept refuses to disrupt it; make other Pods available, or annotate the Pod with " +
			"pub.kruise.io/no-protect=true"},
	{object: "pod/fine", manifest: lone("fine", simulated, "", ""), want: "Pod fine is available; there is nothing to do"},
	// The container needs two minutes to stop, so this is asked early: the last one comes first.
	{object: "clone/slow", manifest: one("slow", "terminationGracePeriodSeconds: 120", "        ports:",
		"        lifecycle: {preStop: {exec: {command: [/demo, sleep, \"120\"]}}}\n        ports:"),
		change: served("slow", 1),
		want: "CloneSet slow waits for Pod slow-#####, which is being updated in place on node node-N; wait until the node has restarted its " +
			"containers, and look at the events of the Pod if it does not"},
}

// launchHeld is a Pod with a container that is never ready, so the other one never starts.
var launchHeld = lone("ordered", onNodes, "", `, env: [{name: ADDRESS, value: ":8081"}]}
      - {name: first, image: "kruise.local/demo:v1", imagePullPolicy: IfNotPresent, readinessProbe: {tcpSocket: {port: 1}},
        env: [{name: KRUISE_CONTAINER_PRIORITY, value: "1"}]`)

// marked gives the Pods of the manifest the label of the hooks.
func marked(name string) []string {
	return []string{"labels:\n        app: NAME", "labels:\n        hold: \"on\"\n        app: " + name}
}

var stuckBudgets = []stuck{
	{object: "pub/empty", manifest: "apiVersion: policy.kruise.io/v1beta1\nkind: PodUnavailableBudget\nmetadata: {name: empty}\n" +
		"spec: {maxUnavailable: 1, selector: {matchLabels: {app: none}}}\n",
		want: "PodUnavailableBudget empty protects no Pods; check its selector or its targetRef"},
	{object: "pub/done", want: "PodUnavailableBudget done allows disruptions: 1 of 1 Pods are available, 0 must be; there is nothing to do"},
	{object: "pub/kept", want: "PodUnavailableBudget kept requires 1 available Pods of 1 and never allows a disruption; raise maxUnavailable or " +
		"lower minAvailable"},
	{object: "pub/quota", want: "PodUnavailableBudget quota allows no disruption: 1 of 2 Pods are available, 1 must be; create the missing Pods, " +
		"or change the budget"},
	{object: "pub/half", manifest: sets("half", 2, "readinessGates: [{conditionType: e2e.kruise.io/ok}]") + guards("StatefulSet", "half", "minAvailable: 1"),
		change: func(e *env) {
			e.eventually("its Pods", func(c *require.Assertions, _ context.Context) { c.Len(e.pods("half"), 2) })
			reports("pod/half-0", `{"conditions":[{"type":"e2e.kruise.io/ok","status":"True"}]}`)(e)
		},
		want: "PodUnavailableBudget half allows no disruption because Pods are not ready: half-1; run: kubectl kruise why pod/half-1"},
	{object: "pub/granted", manifest: sets("granted", 2, "") + guards("StatefulSet", "granted", "minAvailable: 1"),
		// A grant is for a moment. This one ends with the test.
		change: func(e *env) {
			e.counted("granted", 2)
			reports("pub/granted", sprintf(`{"disruptedPods":{"granted-0":%q}}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))(e)
		},
		want: "PodUnavailableBudget granted has granted disruptions that have not happened yet: 1; wait until they have happened"},
}
