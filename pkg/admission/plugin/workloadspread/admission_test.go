package workloadspread

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/features"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// stored is a store of one WorkloadSpread.
type stored struct {
	spread *v1beta1.WorkloadSpread
	fails  error
}

func (s *stored) UpdateStatus(_ context.Context, namespace, name string, update func(*v1beta1.WorkloadSpread) error) error {
	if s.fails != nil {
		return s.fails
	}
	if namespace != "ns" || name != "ws" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "workloadspreads"}, name)
	}
	return update(s.spread)
}

// full returns a WorkloadSpread whose subset a has one Pod and may have one.
func full() *v1beta1.WorkloadSpread {
	all := v1beta1.WorkloadSpreadSubsetStatuses{{Name: "a", Replicas: 1}, {Name: "b", MissingReplicas: -1}}
	return &v1beta1.WorkloadSpread{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ws"},
		Spec: v1beta1.WorkloadSpreadSpec{
			TargetRef: &v1beta1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web"},
			Subsets:   []v1beta1.WorkloadSpreadSubset{{Name: "a", MaxReplicas: new(intstr.FromInt32(1))}, {Name: "b"}},
		},
		Status: v1beta1.WorkloadSpreadStatus{
			SubsetStatuses: all, VersionedSubsetStatuses: map[string]v1beta1.WorkloadSpreadSubsetStatuses{"versionIgnored": all},
		},
	}
}

func newPlugin(t *testing.T, gates string, store *stored, pods ...runtime.Object) *Plugin {
	t.Helper()
	p := New(clocktesting.NewFakePassiveClock(now))
	require.Error(t, p.ValidateInitialization())
	gate, err := features.New("")
	require.NoError(t, err)
	require.NoError(t, gate.Set(gates))
	p.SetKruiseFeatures(gate)
	p.SetExternalKubeClientSet(fake.NewClientset(pods...))
	p.SetKruiseInformers(externalversions.NewSharedInformerFactory(kruisefake.NewClientset(), 0))
	p.SetSpreads(store)
	require.NoError(t, p.ValidateInitialization())
	p.synced = func() bool { return true }
	require.NoError(t, p.known.Add(store.spread))
	return p
}

func spreadPod(annotation string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "web-0", Annotations: map[string]string{"apps.kruise.io/matched-workloadspread": annotation},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web", UID: "web", Controller: new(true)}},
	}}
}

func deletion(pod *corev1.Pod, dry bool) admission.Attributes {
	return admission.NewAttributesRecord(nil, pod, corev1.SchemeGroupVersion.WithKind("Pod"), "ns", pod.Name,
		corev1.SchemeGroupVersion.WithResource("pods"), "", admission.Delete, &metav1.DeleteOptions{}, dry, nil)
}

func eviction(pod *corev1.Pod, options *metav1.DeleteOptions) admission.Attributes {
	return admission.NewAttributesRecord(&policyv1.Eviction{DeleteOptions: options}, nil, policyv1.SchemeGroupVersion.WithKind("Eviction"), "ns", pod.Name,
		corev1.SchemeGroupVersion.WithResource("pods"), "eviction", admission.Create, &metav1.CreateOptions{}, false, nil)
}

// Cases workloadspread 9, 19.
func TestSlotIsReturnedByDeletionsAndEvictions(t *testing.T) {
	const inA = `{"name":"ws","subset":"a"}`
	finished := spreadPod(inA)
	finished.Status.Phase = corev1.PodSucceeded
	orphan := spreadPod(inA)
	orphan.OwnerReferences = nil
	tests := map[string]struct {
		gates   string
		request admission.Attributes
		want    int32
	}{
		"deletion":                  {request: deletion(spreadPod(inA), false), want: 1},
		"eviction":                  {request: eviction(spreadPod(inA), nil), want: 1},
		"dry run":                   {request: deletion(spreadPod(inA), true)},
		"dry run of an eviction":    {request: eviction(spreadPod(inA), &metav1.DeleteOptions{DryRun: []string{"All"}})},
		"gate off":                  {gates: "WorkloadSpread=false", request: deletion(spreadPod(inA), false)},
		"finished Pod":              {request: deletion(finished, false)},
		"Pod without a controller":  {request: deletion(orphan, false)},
		"unreadable annotation":     {request: deletion(spreadPod("{"), false)},
		"another WorkloadSpread":    {request: deletion(spreadPod(`{"name":"other","subset":"a"}`), false)},
		"subset without a limit":    {request: deletion(spreadPod(`{"name":"ws","subset":"b"}`), false)},
		"unknown subset":            {request: deletion(spreadPod(`{"name":"ws","subset":"c"}`), false)},
		"eviction of a missing Pod": {request: eviction(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "gone"}}, nil)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			store := &stored{spread: full()}
			p := newPlugin(t, tc.gates, store, spreadPod(inA))
			require.NoError(t, p.Validate(t.Context(), tc.request, nil))
			require.NoError(t, p.Validate(t.Context(), tc.request, nil), "a slot is returned once")
			assert.Equal(t, tc.want, store.spread.Status.SubsetStatuses[0].MissingReplicas)
			assert.Len(t, store.spread.Status.SubsetStatuses[0].DeletingPods, int(tc.want))
		})
	}
}

func TestDeletionFailsIfTheSlotCannotBeStored(t *testing.T) {
	p := newPlugin(t, "", &stored{spread: full(), fails: errors.New("no leader")})
	err := p.Validate(t.Context(), deletion(spreadPod(`{"name":"ws","subset":"a"}`), false), nil)
	assert.ErrorContains(t, err, "return the slot in WorkloadSpread ns/ws: no leader")
}
