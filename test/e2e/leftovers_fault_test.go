//go:build e2e && fault

package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReplacedCloneSetLeavesNoPods deletes a CloneSet and creates it again under its name before the garbage collector watches CloneSets
// again after a restart of the apiserver. The garbage collector does not see the deletion then. The controllers delete the Pods of the first
// CloneSet.
func TestReplacedCloneSetLeavesNoPods(t *testing.T) {
	e := newEnv(t)
	replaced := manifest("replaced", "      terminationGracePeriodSeconds: 5", onSimulatedNodes)
	e.apply(replaced)
	e.ready("replaced", 3)
	e.killAPIServer(t)
	sets := e.kruise.AppsV1beta1().CloneSets(e.namespace)
	e.eventually("the CloneSet is deleted", func(c *require.Assertions, ctx context.Context) {
		if err := sets.Delete(ctx, "replaced", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			c.NoError(err)
		}
	})
	e.apply(replaced)
	e.ready("replaced", 3)
	e.eventually("the Pods of the first CloneSet are gone", func(c *require.Assertions, _ context.Context) { c.Len(e.pods("replaced"), 3) })
}
