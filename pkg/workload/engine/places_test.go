package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

// daemon is a workload with Pods on nodes, and an engine that remembers.
type daemon struct {
	t      *testing.T
	clock  *clocktesting.FakePassiveClock
	pods   []*corev1.Pod
	engine *Engine
}

func newDaemon(t *testing.T) *daemon {
	t.Helper()
	d := &daemon{t: t, clock: clocktesting.NewFakePassiveClock(now)}
	d.restart()
	return d
}

// restart begins without memory.
func (d *daemon) restart() {
	d.engine = &Engine{
		Clock: d.clock,
		Caches: Caches{
			Pods:      func(metav1.Object) ([]*corev1.Pod, error) { return append([]*corev1.Pod(nil), d.pods...), nil },
			Claims:    func(metav1.Object) ([]*corev1.PersistentVolumeClaim, error) { return nil, nil },
			Revisions: func(metav1.Object) ([]*appsv1.ControllerRevision, error) { return nil, nil },
			Pod: func(_, name string) (*corev1.Pod, error) {
				for _, pod := range d.pods {
					if pod.Name == name {
						return pod, nil
					}
				}
				return nil, nil
			},
		},
	}
}

// next is a pass. It returns the name of a Pod to create on the node.
func (d *daemon) next() string {
	d.t.Helper()
	v, err := d.engine.Observe(&Target{
		Object:   &v1beta1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "set"}},
		Selector: labels.Everything(), Identity: PlaceIdentity("web"),
		Revisions: Revisions{Format: history.PodTemplates, Content: history.Content{Data: []byte(`{"spec":{"template":{}}}`)}},
	})
	require.NoError(d.t, err)
	ids, err := v.PlaceIDs([]string{"node"})
	require.NoError(d.t, err)
	(&execution{Engine: d.engine, view: v}).remember(&Outcome{Complete: true})
	return podcontrol.PodName(v.Identity.Name, ids[0])
}

func (d *daemon) create(name string) *corev1.Pod {
	pod := servingPod(name)
	pod.Spec.NodeName, pod.CreationTimestamp = "node", metav1.NewTime(d.clock.Now())
	d.pods = append(d.pods, pod)
	return pod
}

func TestPodHasAnotherNameThanTheOneThatItReplaces(t *testing.T) {
	d, names := newDaemon(t), map[string]bool{}
	for range 10 {
		name := d.next()
		assert.Equal(t, name, d.next(), "the answer was lost")
		assert.False(t, names[name], "the name was used before")
		names[name] = true
		d.create(name)
		assert.NotEqual(t, name, d.next(), "a second Pod, for a surge")
		d.pods = nil
		d.clock.SetTime(d.clock.Now().Add(time.Second))
	}
}

func TestPodOfASurgeThatFailedIsNotNamedAgain(t *testing.T) {
	for _, between := range []time.Duration{0, time.Second} {
		d := newDaemon(t)
		d.create(d.next())
		d.clock.SetTime(d.clock.Now().Add(between))
		surge := d.next()
		d.create(surge)
		d.next()
		d.pods = d.pods[:1]
		assert.NotEqual(t, surge, d.next(), between)
	}
}

func TestControllerThatRestartsKeepsTheSequenceOfNames(t *testing.T) {
	d := newDaemon(t)
	first := d.next()
	d.restart()
	assert.Equal(t, first, d.next(), "the creation of the first Pod can still arrive")
	d.create(first)
	second := d.next()
	d.restart()
	assert.Equal(t, second, d.next())
}

func TestLastNamesOfNodesWithoutPodsAreForgotten(t *testing.T) {
	d := newDaemon(t)
	d.create(d.next())
	d.next()
	d.pods = nil
	d.clock.SetTime(now.Add(placesKept))
	d.next()
	assert.Len(t, d.engine.memories.all, 1)
	d.clock.SetTime(now.Add(placesKept + time.Second))
	d.next()
	assert.Empty(t, d.engine.memories.all)
}
