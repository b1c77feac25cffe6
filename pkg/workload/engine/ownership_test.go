package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
)

// noGuard is a Guard that never makes a pass wait.
type noGuard struct{}

func (noGuard) Wrote(types.UID, schema.GroupResource, string)          {}
func (noGuard) Deleted(types.UID, schema.GroupResource, metav1.Object) {}

// A workload adopts Pods without a controller, unless the API server shows that the workload is being deleted or was replaced.
func TestAdoptionAsksTheServerForTheWorkloadFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		edit    func(*metav1.ObjectMeta)
		err     error
		adopted bool
	}{
		"it is there":         {func(*metav1.ObjectMeta) {}, nil, true},
		"it is being deleted": {func(o *metav1.ObjectMeta) { o.DeletionTimestamp = &metav1.Time{Time: now} }, nil, false},
		"another of its name": {func(o *metav1.ObjectMeta) { o.UID = "another" }, nil, false},
		"it was deleted":      {func(*metav1.ObjectMeta) {}, apierrors.NewNotFound(schema.GroupResource{}, "web"), false},
	} {
		t.Run(name, func(t *testing.T) {
			orphan, other := servingPod("web-0"), servingPod("other")
			client := fake.NewClientset(orphan, other)
			v := observed(t, nil)
			e := &Engine{
				Server: NewServer(client), Guard: noGuard{}, Recorder: &record.FakeRecorder{}, Clock: clocktesting.NewFakePassiveClock(now),
			}
			v.Adopts = func(pod *corev1.Pod) bool { return pod.Name == "web-0" }
			v.Fresh = func(context.Context) (metav1.Object, error) {
				fresh := &metav1.ObjectMeta{UID: v.Object.GetUID()}
				tc.edit(fresh)
				return fresh, tc.err
			}
			require.NoError(t, v.findOrphans(&Caches{Orphans: func(string, labels.Selector) ([]*corev1.Pod, error) {
				return []*corev1.Pod{orphan, other}, nil
			}}))
			outcome := e.Execute(t.Context(), v, &Plan{})
			require.NoError(t, outcome.Scale)
			for pod, adopted := range map[string]bool{"web-0": tc.adopted, "other": false} {
				got, err := client.CoreV1().Pods("ns").Get(t.Context(), pod, metav1.GetOptions{})
				require.NoError(t, err)
				assert.Equal(t, adopted, metav1.IsControlledBy(got, v.Object), pod)
			}
		})
	}
}
