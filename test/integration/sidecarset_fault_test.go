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

// otherwise is the time that the rest of a creation may take on a busy machine.
const otherwise = 2 * time.Second

// TestPodsWithSidecarsWhileTheAPIServerIsSlowOrDown creates Pods that a SidecarSet selects while the apiserver answers later than the
// timeout of the webhook, not at all, or does not run. They are created without the sidecars within the timeout, or refused where the
// namespace has the label. Namespaces in which no SidecarSet selects Pods do not notice it.
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
		{"slow", func() { n.delay.Store(int64(2 * reviewTimeout)) }, func() { n.delay.Store(0) }, reviewTimeout + otherwise},
		{"cut off", func() { n.cut.Store(true) }, func() { n.cut.Store(false) }, reviewTimeout + otherwise},
		{"stopped", stopped, func() { require.NoError(t, env.server.start(t.Context())) }, otherwise},
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
		assert.Less(t, time.Since(began), otherwise, "%s: no SidecarSet selects Pods of this namespace", step.name)
		step.end()
		injected()
	}
}
