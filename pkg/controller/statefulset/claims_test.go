package statefulset

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/engine"
)

// owners returns the kinds of a claim's owners.
func (w *world) owners(claim string) (kinds []string) {
	found := w.claim(claim)
	require.NotNil(w.t, found, claim)
	for _, ref := range found.OwnerReferences {
		assert.Nil(w.t, ref.Controller, "no owner of a claim is its controller")
		kinds = append(kinds, ref.Kind)
	}
	return kinds
}

func TestPolicyDecidesTheOwnersOfClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		scaled, deleted  v1beta1.PersistentVolumeClaimRetentionPolicyType
		inRange, outside []string
	}{
		"keep all":                 {keep, keep, nil, nil},
		"drop with the set":        {keep, drop, []string{"StatefulSet"}, []string{"StatefulSet"}},
		"drop when scaled":         {drop, keep, nil, []string{"Pod"}},
		"drop when either happens": {drop, drop, []string{"StatefulSet"}, []string{"Pod"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "", newSet(2, volume("data", "1Gi"), retention(tc.scaled, tc.deleted)))
			assert.Equal(t, tc.inRange, w.owners("data-web-1"))
			w.edit(replicas(1))
			for w.pod("web-1") != nil {
				w.step()
			}
			assert.Equal(t, tc.outside, w.owners("data-web-1"))
			assert.Equal(t, tc.inRange, w.owners("data-web-0"))
		})
	}
}

// The policy of a set with Pods can change.
func TestOwnersFollowTheirPolicy(t *testing.T) {
	w := rolled(t, "", newSet(1, volume("data", "1Gi")))
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "mine", UID: "mine"}
	claim := w.claim("data-web-0")
	claim.OwnerReferences = []metav1.OwnerReference{other}
	w.Update(claim)
	w.edit(retention(keep, drop))
	w.settle()
	assert.Equal(t, []string{"ConfigMap", "StatefulSet"}, w.owners("data-web-0"))
	w.edit(retention(keep, keep))
	w.settle()
	assert.Equal(t, []metav1.OwnerReference{other}, w.claim("data-web-0").OwnerReferences, "owners of others stay")
}

func TestPolicyIsIgnoredWithoutItsGate(t *testing.T) {
	w := rolled(t, "StatefulSetAutoDeletePVC=false", newSet(2, volume("data", "1Gi"), retention(drop, drop)))
	w.edit(replicas(1))
	w.settle()
	w.collect()
	assert.Equal(t, []string{"data-web-0", "data-web-1"}, w.claimNames())
	assert.Empty(t, w.owners("data-web-1"))
}

// Case statefulset 18.
func TestPodWaitsForItsStaleClaim(t *testing.T) {
	w := rolled(t, "", newSet(3, volume("data", "1Gi"), retention(drop, keep)))
	before := w.claim("data-web-2").UID
	w.edit(replicas(2))
	for w.pod("web-2") != nil {
		w.step()
	}
	w.edit(replicas(3))
	w.step()
	w.step()
	assert.Nil(t, w.pod("web-2"), "the old claim is still there")
	w.collect()
	assert.Nil(t, w.claim("data-web-2"))
	w.settle()
	require.NotNil(t, w.pod("web-2"))
	assert.NotEqual(t, before, w.claim("data-web-2").UID)
}

// A Pod that is wanted again before it was deleted keeps its claim.
func TestClaimOfAPodThatStaysReturns(t *testing.T) {
	w := rolled(t, "", newSet(2, parallel, volume("data", "1Gi"), retention(drop, keep)))
	w.edit(replicas(1))
	w.step()
	require.Equal(t, []string{"Pod"}, w.owners("data-web-1"))
	w.edit(replicas(2))
	w.settle()
	assert.Empty(t, w.owners("data-web-1"))
}

// A claim that goes with a terminating Pod goes, even if the ordinal is wanted again. The next Pod gets a new claim.
func TestClaimOfATerminatingPodGoes(t *testing.T) {
	w := rolled(t, "", newSet(2, parallel, volume("data", "1Gi"), retention(drop, keep)))
	w.edit(replicas(1))
	w.step()
	w.terminate("web-1")
	w.edit(replicas(2))
	w.settle()
	assert.Equal(t, []string{"Pod"}, w.owners("data-web-1"))
	before := w.claim("data-web-1").UID
	w.lose("web-1")
	w.settle()
	assert.NotEqual(t, before, w.claim("data-web-1").UID)
	assert.Equal(t, []string{"web-0", "web-1"}, w.names())
}

// The policy has changed before the Pod has ended, so the claim stays.
func TestClaimOfATerminatingPodStaysUnderTheNewPolicy(t *testing.T) {
	w := rolled(t, "", newSet(2, parallel, volume("data", "1Gi"), retention(drop, keep)))
	w.edit(replicas(1))
	w.step()
	w.terminate("web-1")
	before := w.claim("data-web-1").UID
	w.edit(retention(keep, keep), replicas(2))
	w.settle()
	assert.Empty(t, w.owners("data-web-1"))
	w.lose("web-1")
	w.collect()
	w.settle()
	assert.Equal(t, before, w.claim("data-web-1").UID)
}

// Case statefulset 19.
func TestClaimsOfPodsScaledInCarryTheSet(t *testing.T) {
	w := rolled(t, "", newSet(3, volume("data", "1Gi"), retention(keep, drop)))
	w.edit(replicas(1))
	w.settle()
	w.collect()
	assert.Equal(t, []string{"data-web-0", "data-web-1", "data-web-2"}, w.claimNames())
	for _, name := range w.claimNames() {
		assert.Equal(t, types.UID("set"), w.claim(name).OwnerReferences[0].UID)
	}
}

// Cases statefulset 20, 49.
func TestClaimsOfReservedOrdinalsGo(t *testing.T) {
	w := rolled(t, "", newSet(3, volume("data", "1Gi"), retention(drop, keep)))
	w.edit(reserve("1"))
	w.settle()
	w.collect()
	assert.Equal(t, []string{"data-web-0", "data-web-2", "data-web-3"}, w.claimNames())

	w = rolled(t, "", newSet(3, volume("data", "1Gi"), retention(drop, keep), reserve("0", "2-5")))
	assert.Equal(t, []string{"data-web-1", "data-web-6", "data-web-7"}, w.claimNames())
	w.edit(replicas(1))
	w.settle()
	w.collect()
	assert.Equal(t, []string{"data-web-1"}, w.claimNames())
}

// Case statefulset 12: a Pod that comes back gets its old claim.
func TestClaimsOutliveTheirPods(t *testing.T) {
	w := rolled(t, "", newSet(3, volume("data", "1Gi")))
	before := w.claim("data-web-1").UID
	w.edit(reserve("1"))
	w.settle()
	w.edit(reserve())
	w.settle()
	assert.Equal(t, []string{"web-0", "web-1", "web-2"}, w.names())
	assert.Equal(t, before, w.claim("data-web-1").UID)
	assert.Equal(t, []string{"data-web-0", "data-web-1", "data-web-2", "data-web-3"}, w.claimNames())
}

// Case statefulset 32.
func TestPodWaitsForATerminatingClaim(t *testing.T) {
	w := newWorld(t, "", newSet(1, volume("data", "1Gi")), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "data-web-0", Namespace: "ns", UID: "old", DeletionTimestamp: &metav1.Time{Time: controllertest.Now},
	}})
	for range 2 {
		require.ErrorContains(t, w.attempt(), "pvc data-web-0 is to be deleted")
	}
	assert.Empty(t, w.Pods())
	assert.Equal(t, "Warning FailedCreate create Claim data-web-0 for Pod web-0 in StatefulSet web failed error: pvc data-web-0 is to be deleted",
		w.Events()[0])
	require.Len(t, conditions.Others(w.set().Status.Conditions), 1)
	require.NoError(t, w.Kube.Tracker().Delete(engine.ClaimResource, "ns", "data-web-0"))
	w.settle()
	assert.Equal(t, []string{"web-0"}, w.names())
	assert.Empty(t, w.set().Status.Conditions)
}

// Case statefulset 41.
func TestClaimOfAPendingPodIsCreatedAgain(t *testing.T) {
	w := rolled(t, "", newSet(1, volume("data", "1Gi")))
	w.change("web-0", func(pod *corev1.Pod) {
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	})
	before := w.claim("data-web-0")
	before.DeletionTimestamp = &metav1.Time{Time: controllertest.Now}
	w.Update(before)
	require.ErrorContains(t, w.attempt(), "pvc data-web-0 is to be deleted")
	require.NoError(t, w.Kube.Tracker().Delete(engine.ClaimResource, "ns", "data-web-0"))
	w.step()
	require.NotNil(t, w.claim("data-web-0"))
	assert.NotEqual(t, before.UID, w.claim("data-web-0").UID)
}

// Case statefulset 23.
func TestNewClaimTemplatesConcernNewPods(t *testing.T) {
	w := rolled(t, "", newSet(1, volume("data", "1Gi")))
	before, pods := w.claims(), w.uids()
	revision := w.set().Status.UpdateRevision
	w.edit(func(s *v1beta1.StatefulSetSpec) { s.VolumeClaimTemplates = nil }, volume("data", "2Gi"), volume("logs", "1Gi"))
	w.settle()
	assert.Equal(t, before, w.claims())
	assert.Equal(t, pods, w.uids())
	assert.Equal(t, revision, w.set().Status.UpdateRevision)
	assert.Equal(t, []v1beta1.VolumeClaimStatus{{VolumeClaimName: "data"}, {VolumeClaimName: "logs"}}, w.set().Status.VolumeClaims)
	w.edit(replicas(2))
	w.settle()
	assert.Equal(t, []string{"data-web-0", "data-web-1", "logs-web-1"}, w.claimNames())
	assert.Equal(t, int32(1), w.set().Status.VolumeClaims[0].CompatibleReplicas)
}

func TestEventsOfClaimsReachTheirSets(t *testing.T) {
	set := newSet(1, volume("data", "1Gi"))
	w := newWorld(t, "", set)
	w.Observe()
	sets := w.Deps.KruiseInformers.Apps().V1beta1().StatefulSets().Informer().GetIndexer()
	keys := func(name string) []types.NamespacedName {
		return setsOfClaim(sets)(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}})
	}
	assert.Equal(t, []types.NamespacedName{{Namespace: "ns", Name: "web"}}, keys("data-web-7"))
	assert.Empty(t, keys("data-other-7"))
	assert.Empty(t, keys("data"))
}
