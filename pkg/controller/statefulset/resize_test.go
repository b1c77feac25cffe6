package statefulset

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

const resizeGate = "StatefulSetAutoResizePVCGate=true"

func class(name string, expands *bool) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, AllowVolumeExpansion: expands}
}

func growWithPods(s *v1beta1.StatefulSetSpec) {
	s.VolumeClaimUpdateStrategy.Type = v1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
}

func size(text string) edit {
	return func(s *v1beta1.StatefulSetSpec) {
		s.VolumeClaimTemplates[0].Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
	}
}

// resizing returns a world whose set resizes its claims, and whose volumes have their size.
func resizing(t *testing.T, replicas int32, edits ...edit) *world {
	t.Helper()
	set := newSet(replicas, append([]edit{volume("data", "1Gi"), growWithPods}, edits...)...)
	w := newWorld(t, resizeGate, set, class("standard", new(true)))
	w.settle()
	w.expand()
	w.settle()
	w.Events()
	return w
}

// expand acts as the storage: it gives every claim what it requests.
func (w *world) expand() {
	for _, claim := range w.claims() {
		claim.Status.Capacity = claim.Spec.Resources.Requests
		w.Update(&claim)
	}
}

// sizes returns what each claim requests.
func (w *world) sizes() (sizes []string) {
	for _, claim := range w.claims() {
		sizes = append(sizes, claim.Spec.Resources.Requests.Storage().String())
	}
	return sizes
}

func (w *world) compatible() []int32 {
	claims := w.set().Status.VolumeClaims[0]
	return []int32{claims.CompatibleReplicas, claims.CompatibleReadyReplicas}
}

// resized settles, while the storage expands claims.
func (w *world) resized() {
	for range 4 {
		w.settle()
		w.expand()
	}
	w.settle()
}

// Case statefulset 33.
func TestClaimsGrowOneAfterTheOther(t *testing.T) {
	w := resizing(t, 3)
	before, revision := w.uids(), w.set().Status.UpdateRevision
	w.edit(size("2Gi"))
	for _, want := range [][]string{{"1Gi", "1Gi", "2Gi"}, {"1Gi", "2Gi", "2Gi"}, {"2Gi", "2Gi", "2Gi"}} {
		w.settle()
		assert.Equal(t, want, w.sizes())
		w.expand()
	}
	w.settle()
	assert.Equal(t, before, w.uids())
	assert.Equal(t, revision, w.set().Status.UpdateRevision)
	assert.Equal(t, []int32{3, 3}, w.compatible())
	assert.Equal(t, "web", w.claim("data-web-0").Annotations[pub.ClaimOwnerKey])
	assert.Contains(t, w.Events(), "Normal SuccessfulResize resize Claim data-web-2 Pod web-2 in StatefulSet web success")
}

// Case statefulset 34.
func TestClaimsGrowBeforeTheirPodsAreUpdated(t *testing.T) {
	for name, policy := range map[string][]edit{"recreated": nil, "in place": {inPlace}} {
		t.Run(name, func(t *testing.T) {
			w := resizing(t, 3, policy...)
			before := w.uids()
			w.edit(size("2Gi"), image("app:2"))
			w.settle()
			assert.Equal(t, []string{"1Gi", "1Gi", "2Gi"}, w.sizes())
			assert.Empty(t, w.updated("app:2"), "the Pod waits for its claim")
			w.resized()
			assert.Len(t, w.updated("app:2"), 3)
			assert.Equal(t, []int32{3, 3}, w.compatible())
			assert.Equal(t, name == "in place", before["web-0"] == w.pod("web-0").UID)
			assert.Equal(t, int32(3), w.set().Status.ReadyReplicas)
		})
	}
}

// A file system that grows when the Pod starts again does not hold up the Pod.
func TestPodIsRecreatedForItsFileSystem(t *testing.T) {
	w := resizing(t, 1)
	w.edit(size("2Gi"), image("app:2"))
	w.settle()
	assert.Empty(t, w.updated("app:2"))
	claim := w.claim("data-web-0")
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
		Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue,
	}}
	w.Update(claim)
	w.settle()
	assert.Equal(t, []string{"web-0"}, w.updated("app:2"))
}

// Cases statefulset 35, 36, 37.
func TestClaimsAfterARollback(t *testing.T) {
	for name, tc := range map[string]struct {
		back  []edit
		sizes []string
		count []int32
	}{
		"the template alone":        {nil, []string{"2Gi", "2Gi", "2Gi"}, []int32{3, 3}},
		"the claims too":            {[]edit{size("1Gi")}, []string{"1Gi", "1Gi", "2Gi"}, []int32{3, 3}},
		"claims no longer follow":   {[]edit{func(s *v1beta1.StatefulSetSpec) { s.VolumeClaimUpdateStrategy.Type = "OnDelete" }}, []string{"1Gi", "1Gi", "2Gi"}, []int32{1, 1}},
		"the claims grow once more": {[]edit{size("3Gi")}, []string{"3Gi", "3Gi", "3Gi"}, []int32{3, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			w := resizing(t, 3, partition(2))
			w.edit(size("2Gi"), image("app:2"))
			w.resized()
			assert.Equal(t, []string{"1Gi", "1Gi", "2Gi"}, w.sizes())
			assert.Equal(t, []string{"web-2"}, w.updated("app:2"))
			assert.Equal(t, []int32{1, 1}, w.compatible())
			w.edit(append(tc.back, image("app:1"), partition(0))...)
			w.resized()
			assert.Len(t, w.updated("app:1"), 3)
			assert.Equal(t, tc.sizes, w.sizes())
			assert.Equal(t, tc.count, w.compatible())
		})
	}
}

// Case statefulset 38: a class that does not allow it, at the time of the update.
func TestClassThatCannotGrowFailsTheUpdate(t *testing.T) {
	w := resizing(t, 1)
	w.Update(class("standard", nil))
	w.edit(size("2Gi"))
	require.ErrorContains(t, w.attempt(), "StorageClass standard does not allow volume expansion")
	assert.Equal(t, []string{"1Gi"}, w.sizes())
	require.Len(t, w.set().Status.Conditions, 1)
	assert.Equal(t, v1beta1.StatefulSetConditionFailedUpdatePod, w.set().Status.Conditions[0].Type)
}

func TestClassThatCannotGrowIsReadAgainSoon(t *testing.T) {
	for name, change := range map[string]func(*world){
		"not allowed": func(w *world) { w.Update(class("standard", new(false))) },
		"deleted": func(w *world) {
			require.NoError(t, w.Kube.Tracker().Delete(storagev1.SchemeGroupVersion.WithResource("storageclasses"), "", "standard"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := resizing(t, 1)
			change(w)
			w.edit(size("2Gi"))
			w.Observe()
			result, err := w.Pass("ns", "web")
			require.Error(t, err)
			assert.Equal(t, classRetry, result.RequeueAfter)
		})
	}
}

func TestClaimThatDiffersOtherwiseFailsTheUpdate(t *testing.T) {
	w := resizing(t, 1)
	claim := w.claim("data-web-0")
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	w.Update(claim)
	require.ErrorContains(t, w.attempt(), "delete the claim")
	assert.Equal(t, "Warning FailedUpdatePVC failed to update pvc data-web-0: contains diff other than spec resource, wait pvc to be deleted",
		w.Events()[0])
}

// Case statefulset 39.
func TestPickedPodsDoNotGrowTheirClaims(t *testing.T) {
	w := resizing(t, 4, partition(2), parallel)
	w.edit(size("2Gi"), image("app:2"))
	w.resized()
	before := w.uids()
	for _, name := range []string{"web-2", "web-1"} {
		w.change(name, func(pod *corev1.Pod) { pod.Labels[pub.SpecifiedDeleteKey] = "true" })
	}
	w.resized()
	assert.NotEqual(t, before["web-1"], w.pod("web-1").UID)
	assert.NotEqual(t, before["web-2"], w.pod("web-2").UID)
	assert.Equal(t, []string{"web-2", "web-3"}, w.updated("app:2"))
	assert.Equal(t, []string{"1Gi", "1Gi", "2Gi", "2Gi"}, w.sizes())
	assert.Equal(t, []int32{2, 2}, w.compatible())
}

func TestClaimsStayWithoutTheGate(t *testing.T) {
	w := rolled(t, "", newSet(1, volume("data", "1Gi"), growWithPods))
	w.edit(size("2Gi"), image("app:2"))
	w.settle()
	assert.Equal(t, []string{"1Gi"}, w.sizes())
	assert.Equal(t, []string{"web-0"}, w.updated("app:2"))
}
