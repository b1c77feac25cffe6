//go:build integration && fault

package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// TestPodsWithSidecarsWhileTheAPIServerIsSlowOrDown creates Pods that a SidecarSet selects while the apiserver answers later than the
// timeout of the webhook, not at all, or does not run. They are created without the sidecars after the timeout, or refused where the
// namespace has the label. In namespaces in which no SidecarSet selects Pods, nothing waits for the timeout. Where the connection is
// refused, nothing waits either.
// Case pod-admission 17.
func TestPodsWithSidecarsWhileTheAPIServerIsSlowOrDown(t *testing.T) {
	lenient, strict := injecting(t), injecting(t)
	mustKubectl(t, "label", "namespace", strict.namespace, requiredLabel+"=Fail")
	for _, b := range []*budgeted{lenient, strict} {
		require.NoError(t, createSidecarSet(t, newSidecarSet(b.namespace, "agent", "agent")))
	}
	unconcerned := &budgeted{t: t, namespace: newNamespace(t), kube: env.kube}
	mustKubectl(t, "label", "namespace", unconcerned.namespace, pub.PodCreationKey+"="+pub.PodCreationIgnored)
	n := networkToServer(t)
	injected := func() {
		for _, b := range []*budgeted{lenient, strict} {
			eventually(t, func() bool {
				pod, err := b.make(demoPod(), metav1.DryRunAll)
				return err == nil && len(pod.Spec.Containers) == 2
			})
		}
	}
	injected()
	stopped := func() { env.server.stop() }
	for _, step := range []struct {
		name       string
		begin, end func()
		// most is the time that a creation may take, or zero if it may take hardly more than one that is not reviewed.
		most time.Duration
	}{
		{"slow", func() { n.delay.Store(int64(2 * reviewTimeout)) }, n.heal, 2 * reviewTimeout},
		{"cut off", func() { n.cut.Store(true) }, n.heal, 2 * reviewTimeout},
		{"stopped", stopped, func() { require.NoError(t, env.server.start(t.Context())) }, 0},
	} {
		step.begin()
		// These come first: after the first timeouts, kube-apiserver may know that the API does not answer, and nothing waits any more.
		began := time.Now()
		_, err := unconcerned.make(demoPod())
		usual := time.Since(began)
		require.NoError(t, err, step.name)
		assert.Less(t, usual, reviewTimeout, "%s: no SidecarSet selects Pods of this namespace", step.name)
		most := step.most
		if most == 0 {
			most = max(2*time.Second, 4*usual)
		}
		for _, b := range []*budgeted{lenient, strict} {
			began := time.Now()
			pod, err := b.make(demoPod())
			took := time.Since(began)
			t.Logf("%s: answered after %s: %v", step.name, took.Round(time.Millisecond), err)
			assert.Less(t, took, most, step.name)
			if b == strict {
				require.ErrorContains(t, err, `failed calling webhook "required.mpod.kb.io"`, step.name)
				continue
			}
			require.NoError(t, err, step.name)
			assert.Equal(t, []string{"web"}, containerNames(pod), step.name)
			assert.Empty(t, pod.Annotations, step.name)
		}
		step.end()
		injected()
	}
}
