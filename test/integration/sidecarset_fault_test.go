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
// namespace has the label. Nothing waits for the timeout where the connection is refused, and in namespaces in which no SidecarSet
// selects Pods.
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
		most       time.Duration
	}{
		{"slow", func() { n.delay.Store(int64(2 * reviewTimeout)) }, n.heal, 2 * reviewTimeout},
		{"cut off", func() { n.cut.Store(true) }, n.heal, 2 * reviewTimeout},
		{"stopped", stopped, func() { require.NoError(t, env.server.start(t.Context())) }, reviewTimeout},
	} {
		step.begin()
		for _, b := range []*budgeted{lenient, strict} {
			began := time.Now()
			pod, err := b.make(demoPod())
			took := time.Since(began)
			t.Logf("%s: answered after %s: %v", step.name, took.Round(time.Millisecond), err)
			assert.Less(t, took, step.most, step.name)
			if b == strict {
				require.ErrorContains(t, err, `failed calling webhook "required.mpod.kb.io"`, step.name)
				continue
			}
			require.NoError(t, err, step.name)
			assert.Equal(t, []string{"web"}, containerNames(pod), step.name)
			assert.Empty(t, pod.Annotations, step.name)
		}
		began := time.Now()
		_, err := unconcerned.make(demoPod())
		require.NoError(t, err, step.name)
		assert.Less(t, time.Since(began), reviewTimeout, "%s: no SidecarSet selects Pods of this namespace", step.name)
		step.end()
		injected()
	}
}
