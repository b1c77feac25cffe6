//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stuck is an object that makes no progress, and what the plugin says about it.
type stuck struct {
	object, manifest string
	// change brings the object into its state, if its manifest alone does not.
	change func(e *env)
	want   string
}

// rollsOut starts a rollout when the Pods exist.
func rollsOut(name string) func(*env) {
	return func(e *env) {
		e.eventually("the Pods of "+name, func(c *require.Assertions, _ context.Context) {
			set := e.cloneSet(name)
			c.Equal(set.Generation, set.Status.ObservedGeneration)
			c.Equal(*set.Spec.Replicas, set.Status.Replicas)
		})
		e.image(name, "kruise.local/demo:v2")
	}
}

// served is rollsOut for Pods that must serve before.
func served(name string, replicas int32) func(*env) {
	return func(e *env) {
		e.ready(name, replicas)
		e.image(name, "kruise.local/demo:v2")
	}
}

// patched changes a CloneSet when its Pods serve.
func patched(name string, replicas int32, patch string) func(*env) {
	return func(e *env) {
		e.ready(name, replicas)
		e.kubectl("patch", "clonesets.v1beta1.apps.kruise.io", name, "--type=merge", "--patch", patch)
	}
}

// deleted deletes an object that has a finalizer. The finalizer is removed when the test ends.
func deleted(object string) func(*env) {
	return func(e *env) {
		e.kubectl("delete", object, "--wait=false")
		e.t.Cleanup(func() {
			out, err := e.command(context.WithoutCancel(e.t.Context()), "patch", object, "--type=json", "--patch",
				`[{"op":"remove","path":"/metadata/finalizers"}]`).CombinedOutput()
			assert.NoError(e.t, err, "%s", out)
		})
	}
}

// reports changes the status of an object, as the program that owns that part does.
func reports(object, status string) func(*env) {
	return func(e *env) {
		e.kubectl("patch", object, "--subresource=status", "--patch", `{"status":`+status+`}`)
	}
}

// Case kubectl-plugin 30: each cause happens on the cluster, all of them in one namespace.
func TestWhyNamesEachCause(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	// With the namespace, Kubernetes deletes the Pods first, and one of them needs minutes to stop. The rollout that has exceeded its deadline
	// would exist until then, and raise its alert.
	t.Cleanup(func() {
		sets := e.kruise.AppsV1beta1().CloneSets(e.namespace)
		_ = sets.DeleteCollection(context.WithoutCancel(t.Context()), metav1.DeleteOptions{}, metav1.ListOptions{})
	})
	e.apply(quotas)
	cases := slices.Concat(stuckWorkloads, stuckPods, stuckBudgets)
	manifests := make([]string, 0, len(cases))
	for _, test := range cases {
		if test.manifest != "" {
			manifests = append(manifests, test.manifest)
		}
	}
	e.apply(strings.Join(manifests, "---\n"))
	for _, test := range cases {
		if test.change != nil {
			test.change(e)
		}
	}
	for _, test := range slices.Backward(cases) {
		e.eventually("why "+test.object, func(c *require.Assertions, _ context.Context) {
			out, err := e.plugin("why", test.object)
			c.NoError(err, out)
			c.Equal(test.want+".\n", normal(out))
		})
	}
}

// What stuckWorkloads say to do.
const (
	fixThat  = "; correct the cause; the controller then retries"
	freeNode = "; change its requests, its node selection, its claims or the nodes"
)

var stuckWorkloads = []stuck{
	{object: "clone/gone", manifest: manifest("gone", "replicas: 3", "replicas: 0", "  name: NAME\nspec", "  name: gone\n  finalizers: ["+holding+"]\nspec"),
		change: deleted("clone/gone"),
		want:   "CloneSet gone is being deleted and has the finalizer " + holding + "; wait, or ask who set the finalizer"},
	{object: "clone/quota", manifest: one("quota", simulated, "replicas: 3", "replicas: 2", withRequests, "") + guards("CloneSet", "quota", "minAvailable: 1"),
		want: `CloneSet quota has the condition FailedScale: create pod quota-#####: pods "quota-#####" is forbidden: exceeded quota: one, requested: pods=1, used: pods=1, ` +
			"limited: pods=1" + fixThat},
	{object: "asts/table", manifest: sets("table", 1, critical),
		want: `Advanced StatefulSet table has the condition FailedCreatePod: create pod table-0: pods "table-0" is forbidden: exceeded quota: none, requested: pods=1, ` +
			"used: pods=0, limited: pods=0" + fixThat},
	{object: "daemonsets.apps.kruise.io/agent", manifest: daemons("agent", critical),
		want: "Advanced DaemonSet agent has a change that the controller has not observed, and a warning: FailedCreate: Error creating: " +
			`pods "agent-HASH" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0; correct the cause, or check that the ` +
			"Pods of kruise-controller-manager in kruise-system run"},
	{object: "clone/done", manifest: one("done", simulated) + guards("CloneSet", "done", "maxUnavailable: 1"),
		want: "CloneSet done is complete: 1 of 1 Pods are updated and available; there is nothing to do"},
	{object: "clone/paused", manifest: one("paused", nowhere, "maxUnavailable: 1", "paused: true"), change: rollsOut("paused"),
		want: "CloneSet paused is paused with 0 of 1 Pods updated; run: kubectl kruise rollout resume clonesets.apps.kruise.io/paused"},
	{object: "clone/manual", manifest: one("manual", nowhere, beta("{type: OnDelete}")...), change: rollsOut("manual"),
		want: "CloneSet manual has the update strategy OnDelete with 0 of 1 Pods updated; delete the old Pods yourself"},
	{object: "clone/canary", manifest: one("canary", simulated, "replicas: 3", "replicas: 2", "maxUnavailable: 1", "partition: 1"),
		change: served("canary", 2),
		want:   "CloneSet canary has 1 of 2 Pods updated, as many as its partition allows; lower the partition to update more Pods"},
	{object: "clone/guarded", manifest: one("guarded", simulated, "InPlaceIfPossible", "ReCreate") + guards("CloneSet", "guarded", "minAvailable: 1"),
		change: func(e *env) {
			e.counted("guarded", 1)
			served("guarded", 1)(e)
		},
		want: "CloneSet guarded cannot update Pod guarded-##### because PodUnavailableBudget guarded allows no unavailable Pod: 1 are available, " +
			"1 must be; make Pods available or raise the budget: run kubectl kruise why podunavailablebudget/guarded"},
	// The API refuses such a change under InPlaceOnly, so the policy comes after the change.
	{object: "clone/rigid", manifest: one("rigid", simulated, "maxUnavailable: 1", "paused: true"),
		change: func(e *env) {
			patched("rigid", 1, `{"spec":{"template":{"spec":{"hostname":"other"}}}}`)(e)
			e.kubectl("patch", "clonesets.v1beta1.apps.kruise.io", "rigid", "--type=merge", "--patch",
				`{"spec":{"updateStrategy":{"rollingUpdate":{"paused":false,"podUpdatePolicy":"InPlaceOnly"}}}}`)
		},
		want: "CloneSet rigid has the condition FailedUpdate: pod rigid-##### cannot be updated in place to revision rigid-HASH: the revisions " +
			"differ in fields that cannot change in place; set podUpdatePolicy to InPlaceIfPossible, or delete the Pod" + fixThat},
	{object: "clone/limited", manifest: one("limited", nowhere, "  replicas: 3", "  scaleStrategy: {maxUnavailable: 0}\n  replicas: 1"),
		want: "CloneSet limited has a warning: ScaleUpLimited: scaleUp is limited because of scaleStrategy.maxUnavailable, limit: 0" + fixThat},
	{object: "clone/late", manifest: one("late", nowhere, "  replicas: 3", "  scaleStrategy: {maxUnavailable: 0}\n  progressDeadlineSeconds: 1\n  replicas: 1"),
		want: "CloneSet late made no progress before its deadline: CloneSet revision late-HASH has timed out progressing; " +
			"run: kubectl kruise rollout undo clonesets.apps.kruise.io/late"},
	{object: "clone/nowhere", manifest: one("nowhere", nowhere),
		want: "CloneSet nowhere waits for Pod nowhere-#####, which has no node: 0/N nodes are available" + freeNode},
}

// counted waits until a budget has counted the available Pods of its workload.
func (e *env) counted(name string, pods int32) {
	e.t.Helper()
	e.eventually("the budget "+name+" is counted", func(c *require.Assertions, ctx context.Context) {
		budget, err := e.kruise.PolicyV1beta1().PodUnavailableBudgets(e.namespace).Get(ctx, name, metav1.GetOptions{})
		c.NoError(err)
		c.Equal(budget.Generation, budget.Status.ObservedGeneration)
		c.Equal(pods, budget.Status.CurrentAvailable)
	})
}
