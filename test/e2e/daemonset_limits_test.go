//go:build e2e

package e2e

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// burstReplicas 0 creates and deletes no Pod. A percentage of less than one node, and a limit of one Pod in a pass, serve all nodes.
// Case daemonset 14.
func TestBurstLimitsCreationsAndDeletions(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	all := int32(len(nodes))
	text := func(burst string) string {
		return e.daemonManifest("ds", "  updateStrategy:\n", "  burstReplicas: "+burst+"\n  updateStrategy:\n")
	}
	counts := func(desired, current, misscheduled int32) {
		t.Helper()
		e.daemonStatus("counts", func(c *require.Assertions, set *v1beta1.DaemonSet) {
			c.Equal([]int32{desired, current, misscheduled},
				[]int32{set.Status.DesiredNumberScheduled, set.Status.CurrentNumberScheduled, set.Status.NumberMisscheduled})
		})
	}
	e.apply(text("0"))
	counts(all, 0, 0)
	assert.Empty(t, e.pods("ds"))
	e.apply(text("10%"))
	e.daemonReady("ds", all)
	assert.Equal(t, nodes, nodesOf(e.pods("ds")))

	e.apply(text("0"))
	e.daemonReady("ds", all)
	e.labelNode(t.Context(), nodes[0], e.nodeLabel(), `"other"`)
	e.labelNode(t.Context(), nodes[1], e.nodeLabel(), `"other"`)
	counts(all-2, all-2, 2)
	assert.Equal(t, nodes, nodesOf(e.pods("ds")))
	e.apply(text("1"))
	e.daemonReady("ds", all-2)
	assert.Equal(t, nodes[2:], nodesOf(e.pods("ds")))
}

// The history keeps as many old revisions as its limit says, the newest ones. Those that Pods use count, and are kept.
// Case daemonset 31.
func TestHistoryOfADaemonSetIsLimited(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	nodes := e.choose()
	text := func(version string) string {
		return e.daemonManifest("ds", "  updateStrategy:\n"+oneAtATime, "  revisionHistoryLimit: 1\n  updateStrategy: {type: OnDelete}\n",
			"        ports:", "        env: [{name: VERSION, value: "+version+"}]\n        ports:")
	}
	// revision applies a version, and returns the name of its revision.
	revision := func(version string) (name string) {
		t.Helper()
		e.apply(text(version))
		e.daemonStatus("version "+version, func(c *require.Assertions, set *v1beta1.DaemonSet) {
			c.EqualValues(len(nodes), set.Status.NumberAvailable)
			name = "ds-" + set.Status.UpdateRevision
		})
		return name
	}
	kept := func(names ...string) {
		t.Helper()
		e.eventually("the revisions that are kept", func(c *require.Assertions, ctx context.Context) {
			list, err := e.core.AppsV1().ControllerRevisions(e.namespace).List(ctx, metav1.ListOptions{})
			c.NoError(err)
			var found []string
			for i := range list.Items {
				found = append(found, list.Items[i].Name)
			}
			c.ElementsMatch(names, found)
		})
	}
	first := revision("one")
	kept(first)
	second := revision("two")
	kept(first, second)
	third := revision("three")
	kept(first, third)

	before := byUID(e.pods("ds"))
	e.kubectl("delete", "pods", "--selector=app=ds")
	e.daemonReady("ds", int32(len(nodes)))
	for uid := range byUID(e.pods("ds")) {
		assert.NotContains(t, before, uid)
	}
	fourth := revision("four")
	kept(third, fourth)
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values([]string{first, second, third, fourth}))), 4)
}
