//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rolloutKind is the part of the definition of Rollouts that commands need. Another project serves them.
const rolloutKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rollouts.rollouts.kruise.io}
spec:
  group: rollouts.kruise.io
  scope: Namespaced
  names: {plural: rollouts, singular: rollout, kind: Rollout}
  versions:
  - name: v1beta1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// rollouts are Rollouts of a CloneSet whose Pods find no node.
const rollouts = `apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {name: web}
spec:
  workloadRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web}
  strategy:
    canary:
      steps:
      - {replicas: 1, traffic: 5%, pause: {}}
      - {replicas: 50%, pause: {duration: 60}}
      - {replicas: 100%, matches: [{headers: []}]}
      trafficRoutings: [{service: web, ingress: {name: web}}]
---
apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {name: busy}
spec: {strategy: {blueGreen: {steps: [{replicas: 100%}, {replicas: 100%, traffic: 50%}]}}}
---
apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {name: idle}
`

// Cases kubectl-plugin 6a, 29, 29a, 38: a Rollout that waits for an approval.
func TestPluginApprovesRollouts(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(rolloutKind)
	t.Cleanup(func() {
		out, err := e.command(context.WithoutCancel(t.Context()), "delete", "customresourcedefinition", "rollouts.rollouts.kruise.io").CombinedOutput()
		assert.NoError(t, err, "%s", out)
	})
	e.established("rollouts.rollouts.kruise.io")
	e.apply(manifest("web", "replicas: 3", "replicas: 1", "terminationGracePeriodSeconds: 5", "nodeSelector: {e2e: none}"))
	e.eventually("the Rollouts", func(c *require.Assertions, ctx context.Context) {
		command := e.command(ctx, "apply", "-f", "-")
		command.Stdin = strings.NewReader(rollouts)
		out, err := command.CombinedOutput()
		c.NoError(err, "%s", out)
	})
	revision := ""
	e.eventually("the CloneSet has its Pod", func(c *require.Assertions, _ context.Context) {
		set := e.cloneSet("web")
		revision = set.Status.UpdateRevision
		c.NotEmpty(revision)
		c.EqualValues(1, set.Status.Replicas)
	})
	e.kubectl("label", "pod", e.pods("web")[0].Name, "rollouts.kruise.io/rollout-batch-id=1")
	for name, status := range map[string]string{
		"web": `{"phase":"Progressing","message":"Rollout is in step(1/3)","canaryStatus":{"currentStepIndex":1,"currentStepState":"StepPaused",` +
			`"stableRevision":"web-a","canaryRevision":"` + revision + `"}}`,
		"busy": `{"blueGreenStatus":{"currentStepIndex":2,"nextStepIndex":3,"currentStepState":"StepUpgrade"}}`,
	} {
		e.kubectl("patch", "rollouts.rollouts.kruise.io", name, "--subresource=status", "--type=merge", "--patch", `{"status":`+status+`}`)
	}
	s := e.session()
	s.types(`
describe rollout web --no-color
describe rollout none
describe rollout
describe rollout web --watch --timeout=10 --no-color
rollout approve
rollout approve clone/web
rollout approve rollout/busy
rollout approve rollout/idle
rollout approve rollout/web
rollout approve rollout/web
get rollout web -o jsonpath='{.status.canaryStatus.currentStepState}'`)
	e.kubectl("patch", "rollouts.rollouts.kruise.io", "web", "--subresource=status", "--type=merge", "--patch", `{"status":{"phase":"Healthy"}}`)
	s.types(`describe rollout web --watch --no-color`)
	s.listsAll()
	s.types(`
rollout pause rollout/web
rollout pause rollout/web
get rollout web -o jsonpath='{.spec.strategy.paused}'
rollout resume rollout/web
rollout resume rollout/web
rollout undo rollout/web
rollout undo rollout/web --fast
rollout undo rollout/busy --fast
rollout undo rollout/busy --fast
get rollout busy -o jsonpath='{.status.blueGreenStatus.nextStepIndex}'`)
	e.kubectl("patch", "clone", "web", "--type=merge", "--patch", `{"spec":{"template":{"metadata":{"annotations":{"v":"2"}}}}}`)
	e.eventually("the CloneSet has a second revision", func(c *require.Assertions, _ context.Context) {
		c.NotEqual(revision, e.cloneSet("web").Status.UpdateRevision)
	})
	s.types(`rollout undo rollout/web`)
	e.eventually("the CloneSet is at its first revision", func(c *require.Assertions, _ context.Context) {
		c.Equal(revision, e.cloneSet("web").Status.UpdateRevision)
	})
	s.shows("canary.txt")
}
