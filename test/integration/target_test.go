//go:build integration

package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func newSpread(name string, target v1beta1.TargetReference) *v1beta1.WorkloadSpread {
	return &v1beta1.WorkloadSpread{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1beta1.WorkloadSpreadSpec{TargetRef: &target, Subsets: []v1beta1.WorkloadSpreadSubset{{Name: "a"}}},
	}
}

// A workload can have only one WorkloadSpread and one PersistentPodState. Its kind must be a known kind or one that the
// administrator allows.
// Case persistentpodstate 10.
// Not parallel: it writes the administrator's ConfigMap.
func TestTargetsOfWorkloads(t *testing.T) {
	namespace := newNamespace(t)
	spreads, states := env.kruise.AppsV1beta1().WorkloadSpreads(namespace), env.kruise.AppsV1beta1().PersistentPodStates(namespace)
	spread := func(name string, target v1beta1.TargetReference) error {
		_, err := spreads.Create(t.Context(), newSpread(name, target), metav1.CreateOptions{})
		return err
	}
	state := func(name string, target v1beta1.TargetReference) error {
		_, err := states.Create(t.Context(), &v1beta1.PersistentPodState{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1beta1.PersistentPodStateSpec{
				TargetRef: target, RequiredPersistentTopology: &v1beta1.NodeTopologyTerm{Keys: []string{"kubernetes.io/hostname"}},
			},
		}, metav1.CreateOptions{})
		return err
	}
	set := v1beta1.TargetReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web"}
	newer := v1beta1.TargetReference{APIVersion: "apps/v1beta2", Kind: "StatefulSet", Name: "web"}
	game := v1beta1.TargetReference{APIVersion: "example.com/v1", Kind: "Game", Name: "web"}
	require.NoError(t, spread("first", set))
	require.NoError(t, state("first", set))
	requireInvalid(t, spread("second", newer), "spec.targetRef", "targetRef is in conflict with other WorkloadSpread first")
	requireInvalid(t, state("second", newer), "spec.targetRef", "targetRef is in conflict with other PersistentPodState first")

	requireInvalid(t, spread("third", game), "spec.targetRef", "TargetReference's GroupKind is not permitted")
	requireInvalid(t, state("third", game), "spec.targetRef", "TargetReference's GroupKind is not permitted")
	configure(t, map[string]string{
		"WorkloadSpread_Watch_Custom_Workload_WhiteList": `{"workloads":[{"group":"example.com","version":"v1","kind":"Game"}]}`,
		"PPS_Watch_Custom_Workload_WhiteList":            `{"workloads":[{"group":"example.com","version":"v1","kind":"Game"}]}`,
	})
	require.NoError(t, spread("third", game))
	require.NoError(t, state("third", game))
}

// A patch of a subset that would produce an invalid Pod is refused, for workloads of Kruise and of Kubernetes.
func TestPatchesOfSubsetsMakePods(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: storage("1Gi")},
	}}
	mounting := newCloneSet("web")
	mounting.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
	mounting.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	create(t, env.kruise.AppsV1beta1().CloneSets(namespace), mounting)

	spreads := env.kruise.AppsV1beta1().WorkloadSpreads(namespace)
	spread := newSpread("demo", v1beta1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web"})
	patch := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	spread.Spec.Subsets[0].Patch = patch(`{"spec":{"containers":[{"name":"web","imagePullPolicy":"Sometimes"}]}}`)
	_, err := spreads.Create(t.Context(), spread, metav1.CreateOptions{})
	requireInvalid(t, err, "spec.subsets[0].patch.spec.containers[0].imagePullPolicy")
	spread.Spec.Subsets[0].Patch = patch(`{"metadata":{"labels":{"subset":"a"}}}`)
	_, err = spreads.Create(t.Context(), spread, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = spreads.Patch(t.Context(), "demo", types.MergePatchType,
		[]byte(`{"spec":{"subsets":[{"name":"a","patch":{"spec":{"containers":[{"name":"more"}]}}}]}}`), metav1.PatchOptions{})
	requireInvalid(t, err, "spec.subsets[0].patch.spec.containers")
}
