package workloadspread

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
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
	p.SetRESTMapper(meta.NewDefaultRESTMapper(nil))
	p.SetMetadataClient(metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()))
	p.SetKruiseClientSet(kruisefake.NewClientset(newCloneSet("web"), newCloneSet("other")))
	p.SetKruiseInformers(externalversions.NewSharedInformerFactory(kruisefake.NewClientset(), 0))
	p.SetSpreads(store)
	require.NoError(t, p.ValidateInitialization())
	p.synced = func() bool { return true }
	require.NoError(t, p.known.Add(store.spread))
	return p
}

// newCloneSet returns a CloneSet whose UID is its name.
func newCloneSet(name string) *v1beta1.CloneSet {
	return &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
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

// A recount counts no Pods of an earlier workload, so their deletion must not free the slots of the current one.
func TestOnlyAPodOfTheTargetReturnsItsSlot(t *testing.T) {
	controller := func(apiVersion, kind, name, uid string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true)}
	}
	const kruise, apps, custom = "apps.kruise.io/v1beta1", "apps/v1", "example.com/v1"
	replicaSet := func(name string, above ...metav1.OwnerReference) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), OwnerReferences: above}}
	}
	cloneSet, deployment := controller(kruise, "CloneSet", "web", ""), controller(apps, "Deployment", "web", "web")
	tests := map[string]struct {
		// target is the target of the WorkloadSpread, and owner the controller of the Pod.
		target, owner metav1.OwnerReference
		want          int32
	}{
		"its workload":                           {cloneSet, controller(kruise, "CloneSet", "web", "web"), 1},
		"an earlier workload of its name":        {cloneSet, controller(kruise, "CloneSet", "web", "earlier"), 0},
		"a workload that is deleted":             {cloneSet, controller(kruise, "CloneSet", "gone", "gone"), 0},
		"another workload":                       {cloneSet, controller(kruise, "CloneSet", "other", "other"), 0},
		"a ReplicaSet of the target":             {deployment, controller(apps, "ReplicaSet", "web-1", "web-1"), 1},
		"an earlier ReplicaSet of the name":      {deployment, controller(apps, "ReplicaSet", "web-1", "earlier"), 0},
		"a ReplicaSet of another workload":       {deployment, controller(apps, "ReplicaSet", "other-1", "other-1"), 0},
		"a ReplicaSet without a controller":      {deployment, controller(apps, "ReplicaSet", "alone", "alone"), 0},
		"a kind that is never below the target":  {cloneSet, controller(apps, "ReplicaSet", "web-2", "web-2"), 0},
		"an unreadable owner below a custom one": {controller(custom, "Game", "web", ""), controller(custom, "Part", "web-1", "x"), 1},
		"an unreadable target":                   {controller(custom, "Game", "web", ""), controller(custom, "Game", "web", "x"), 1},
		"another unreadable owner":               {cloneSet, controller(custom, "Game", "web", "x"), 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			store := &stored{spread: full()}
			store.spread.Spec.TargetRef = &v1beta1.TargetReference{APIVersion: tc.target.APIVersion, Kind: tc.target.Kind, Name: tc.target.Name}
			store.spread.Status.VersionedSubsetStatuses["hash"] = store.spread.Status.SubsetStatuses
			pod := spreadPod(`{"name":"ws","subset":"a"}`)
			pod.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "hash"}
			pod.OwnerReferences = []metav1.OwnerReference{tc.owner}
			p := newPlugin(t, "", store, replicaSet("web-1", deployment), replicaSet("web-2", controller(kruise, "CloneSet", "web", "web")),
				replicaSet("other-1", controller(apps, "Deployment", "other", "other")), replicaSet("alone"))
			before := store.spread.Status.DeepCopy()
			require.NoError(t, p.Validate(t.Context(), deletion(pod, false), nil))
			assert.Len(t, store.spread.Status.SubsetStatuses[0].DeletingPods, int(tc.want))
			if tc.want == 0 {
				assert.Equal(t, before, &store.spread.Status)
			}
		})
	}
}

// Numbered Pods have no slots, and subsets without a limit count none.
func TestDeletionWithoutASlotReadsNoOwner(t *testing.T) {
	for name, change := range map[string]func(*v1beta1.WorkloadSpread){
		"a StatefulSet": func(s *v1beta1.WorkloadSpread) {
			s.Spec.TargetRef = &v1beta1.TargetReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web"}
		},
		"no limit": func(s *v1beta1.WorkloadSpread) { s.Spec.Subsets[0].MaxReplicas = nil },
	} {
		t.Run(name, func(t *testing.T) {
			store := &stored{spread: full()}
			change(store.spread)
			p := newPlugin(t, "", store)
			require.NoError(t, p.known.Add(store.spread))
			kruise := kruisefake.NewClientset()
			kruise.PrependReactor("get", "clonesets", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewServiceUnavailable("the store is closed")
			})
			p.SetKruiseClientSet(kruise)
			assert.NoError(t, p.Validate(t.Context(), deletion(spreadPod(`{"name":"ws","subset":"a"}`), false), nil))
		})
	}
}

func TestDeletionFailsIfTheOwnerCannotBeRead(t *testing.T) {
	store := &stored{spread: full()}
	p := newPlugin(t, "", store)
	kruise := kruisefake.NewClientset()
	kruise.PrependReactor("get", "clonesets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServiceUnavailable("the store is closed")
	})
	p.SetKruiseClientSet(kruise)
	err := p.Validate(t.Context(), deletion(spreadPod(`{"name":"ws","subset":"a"}`), false), nil)
	assert.ErrorContains(t, err, "return the slot in WorkloadSpread ns/ws: get CloneSet web: the store is closed")
	assert.Empty(t, store.spread.Status.SubsetStatuses[0].DeletingPods)
}
