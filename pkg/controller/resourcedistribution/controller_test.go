package resourcedistribution

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
)

// Case resourcedistribution 1.
func TestAllNamespacesButExcludedAndSystemOnesGetACopy(t *testing.T) {
	w := newWorld(t, aConfigMap, everywhere, exclude("a"))
	w.settle()
	assert.Equal(t, "b c", w.in())
	status := w.distribution().Status
	assert.Equal(t, []int32{2, 2, 0}, []int32{status.Desired, status.Succeeded, status.Failed})
	assert.Equal(t, int64(1), status.ObservedGeneration)
	require.Len(t, status.Conditions, 6)
	for i, condition := range status.Conditions {
		assert.Equal(t, conditionTypes[i], condition.Type)
		assert.Equal(t, corev1.ConditionFalse, condition.Status)
		assert.Equal(t, "Succeeded", condition.Reason)
	}
}

// Case resourcedistribution 19.
func TestIncludedSystemNamespaceGetsACopy(t *testing.T) {
	w := newWorld(t, aConfigMap, everywhere, include("kube-system"), exclude("c"))
	w.settle()
	assert.Equal(t, "a b kube-system", w.in())
}

// Case resourcedistribution 2.
func TestIncludedAndSelectedNamespacesAreJoined(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a", "b"), labelled("env"))
	w.Update(namespace("c", "env"))
	w.settle()
	assert.Equal(t, "a b c", w.in())
}

// Case resourcedistribution 3.
func TestExclusionComesBeforeSelection(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a"), exclude("b"), labelled("env"))
	w.Update(namespace("b", "env"))
	w.settle()
	assert.Equal(t, "a", w.in())
}

// Case resourcedistribution 5.
func TestMissingNamespaceIsNamedUntilItExists(t *testing.T) {
	w := newWorld(t, aConfigMap, include("missing"))
	w.settle()
	reason, namespaces := w.failed(v1beta1.ResourceDistributionNamespaceNotExists)
	assert.Equal(t, "namespace not found or is terminating", reason)
	assert.Equal(t, "missing", namespaces)
	status := w.distribution().Status
	assert.Equal(t, []int32{1, 0, 1}, []int32{status.Desired, status.Succeeded, status.Failed})

	created := namespace("missing")
	assert.Equal(t, []types.NamespacedName{{Name: "d"}}, w.r.namespaceChanged(nil, created))
	w.Add(created)
	w.settle()
	assert.Equal(t, "missing", w.in())
	reason, _ = w.failed(v1beta1.ResourceDistributionNamespaceNotExists)
	assert.Empty(t, reason)
}

// Case resourcedistribution 6.
func TestObjectOfOthersIsNotTouched(t *testing.T) {
	w := newWorld(t, aConfigMap, everywhere)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "copy"}, Data: map[string]string{"theirs": "1"}}
	w.Add(theirs)
	w.settle()
	assert.Equal(t, "a c", w.in())
	assert.Equal(t, map[string]string{"theirs": "1"}, w.configMap("b").Data)
	reason, namespaces := w.failed(v1beta1.ResourceDistributionConflictOccurred)
	assert.Contains(t, reason, "conflict with existing resources of same namespace, group, version, kind, name")
	assert.Equal(t, "b", namespaces)
	assert.Equal(t, int32(1), w.distribution().Status.Failed)

	// Events of other namespaces cost no requests for the conflict.
	w.Kube.ClearActions()
	assert.Equal(t, conflictPeriod, w.Step("", "d"))
	assert.Empty(t, w.Kube.Actions())
	require.NoError(t, w.Kube.CoreV1().ConfigMaps("b").Delete(t.Context(), "copy", metav1.DeleteOptions{}))
	w.Clock.SetTime(w.Clock.Now().Add(conflictPeriod))
	w.settle()
	assert.Equal(t, "a b c", w.in())
}

func TestConflictIsLookedAtAgainAfterAChangeOfTheSpec(t *testing.T) {
	w := newWorld(t, aConfigMap, include("b"))
	w.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "copy"}})
	w.settle()
	require.NoError(t, w.Kube.CoreV1().ConfigMaps("b").Delete(t.Context(), "copy", metav1.DeleteOptions{}))
	w.edit(func(spec *v1beta1.ResourceDistributionSpec) { include("a", "b")(&spec.Targets) })
	w.settle()
	assert.Equal(t, "a b", w.in())
}

// Case resourcedistribution 6.
func TestConflictEndsWithItsNamespace(t *testing.T) {
	w := newWorld(t, aConfigMap, include("b"))
	w.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "copy"}})
	w.settle()
	require.NoError(t, w.Kube.CoreV1().ConfigMaps("b").Delete(t.Context(), "copy", metav1.DeleteOptions{}))
	again := namespace("b")
	again.UID = "again"
	w.Update(again)
	w.settle()
	assert.Equal(t, "b", w.in())
}

// Case resourcedistribution 7.
func TestEditedCopyIsRepaired(t *testing.T) {
	for name, edit := range map[string]func(*corev1.ConfigMap){
		"data":             func(c *corev1.ConfigMap) { c.Data["a"] = "theirs" },
		"label":            func(c *corev1.ConfigMap) { c.Labels["app"] = "theirs" },
		"annotation":       func(c *corev1.ConfigMap) { delete(c.Annotations, pub.ResourceDistributedFromKey) },
		"added data":       func(c *corev1.ConfigMap) { c.Data["b"] = "theirs" },
		"label of copies":  func(c *corev1.ConfigMap) { delete(c.Labels, pub.DistributedCopyKey) },
		"owner references": func(c *corev1.ConfigMap) { c.OwnerReferences[0].BlockOwnerDeletion = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, aConfigMap, include("a"))
			w.settle()
			want := w.configMap("a")
			edited := want.DeepCopy()
			edit(edited)
			w.Update(edited)
			w.settle()
			assert.Equal(t, want, w.configMap("a"))
		})
	}
}

// Case resourcedistribution 13.
func TestLabelsOfOthersStayOnCopies(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a"))
	w.settle()
	edited := w.configMap("a")
	edited.Labels["theirs"], edited.Annotations["theirs"], edited.Finalizers = "x", "x", []string{"theirs/x"}
	w.Update(edited)
	assert.Empty(t, w.settle(), "they are no difference")
	w.edit(func(spec *v1beta1.ResourceDistributionSpec) {
		spec.Resource.Raw = []byte(strings.ReplaceAll(aConfigMap, `"a":"1"`, `"a":"2"`))
	})
	w.settle()
	changed := w.configMap("a")
	assert.Equal(t, "2", changed.Data["a"])
	assert.Equal(t, "x", changed.Labels["theirs"])
	assert.Equal(t, "x", changed.Annotations["theirs"])
	assert.Equal(t, []string{"theirs/x"}, changed.Finalizers)
}

// The API accepts no new finalizer on an object that is being deleted.
func TestCopyThatIsBeingDeletedGetsNoFinalizerAgain(t *testing.T) {
	w := newWorld(t, strings.Replace(aConfigMap, `"metadata":{`, `"metadata":{"finalizers":["example.com/a","example.com/b"],`, 1), include("a"))
	w.settle()
	copied := w.configMap("a")
	require.Len(t, copied.Finalizers, 2)
	copied.DeletionTimestamp, copied.Finalizers = new(metav1.NewTime(w.Clock.Now())), []string{"example.com/b"}
	w.Update(copied)
	assert.Empty(t, w.settle())
	copied.Data["a"] = "theirs"
	w.Update(copied)
	w.settle()
	assert.Equal(t, []string{"example.com/b"}, w.configMap("a").Finalizers)
	assert.Equal(t, "1", w.configMap("a").Data["a"])
}

// Case resourcedistribution 8.
func TestDeletedCopyIsCreatedAgain(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a"))
	w.settle()
	copied := w.configMap("a")
	assert.Equal(t, []types.NamespacedName{{Name: "d"}}, owner(copied))
	require.NoError(t, w.Kube.CoreV1().ConfigMaps("a").Delete(t.Context(), "copy", metav1.DeleteOptions{}))
	w.settle()
	assert.Equal(t, "a", w.in())
}

// Case resourcedistribution 9.
func TestCopiesFollowTheLabelsOfNamespaces(t *testing.T) {
	w := newWorld(t, aConfigMap, labelled("env"))
	w.settle()
	assert.Empty(t, w.in())
	w.Observe()
	assert.Equal(t, []types.NamespacedName{{Name: "d"}}, w.r.namespaceChanged(namespace("a"), namespace("a", "env")))
	assert.Empty(t, w.r.namespaceChanged(namespace("a"), namespace("a", "other")), "a label that is not selected")
	w.Update(namespace("a", "env"))
	w.settle()
	assert.Equal(t, "a", w.in())
	assert.Equal(t, []types.NamespacedName{{Name: "d"}}, w.r.namespaceChanged(namespace("a", "env"), namespace("a")))
	w.Update(namespace("a"))
	w.settle()
	assert.Empty(t, w.in())
	assert.Zero(t, w.distribution().Status.Desired)
}

// Case resourcedistribution 10.
func TestCopiesOfADeletedDistributionAreLeftToTheGarbageCollector(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a"))
	w.settle()
	want := []metav1.OwnerReference{{
		APIVersion: "apps.kruise.io/v1beta1", Kind: "ResourceDistribution", Name: "d", UID: "d",
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	assert.Equal(t, want, w.configMap("a").OwnerReferences)
	d := w.distribution()
	d.DeletionTimestamp, d.Finalizers = new(metav1.NewTime(w.Clock.Now())), []string{"x/y"}
	w.Update(d)
	require.NoError(t, w.Kube.CoreV1().ConfigMaps("a").Delete(t.Context(), "copy", metav1.DeleteOptions{}))
	w.Writes()
	assert.Empty(t, w.settle(), "the garbage collector's deletions are not undone")
}

// Case resourcedistribution 13.
func TestCopiesFollowTheResource(t *testing.T) {
	w := newWorld(t, aConfigMap, everywhere)
	w.settle()
	resource := `{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"labels":{"app":"web","tier":"x"},"name":"copy"}}`
	w.edit(func(spec *v1beta1.ResourceDistributionSpec) { spec.Resource.Raw = []byte(resource) })
	writes := w.settle()
	assert.Equal(t, []string{"update configmaps copy", "update configmaps copy", "update configmaps copy",
		"update resourcedistributions/status d"}, writes)
	sum := sha256.Sum256([]byte(resource))
	for _, name := range []string{"a", "b", "c"} {
		copied := w.configMap(name)
		assert.Equal(t, map[string]string{"a": "2"}, copied.Data)
		assert.Equal(t, "x", copied.Labels["tier"])
		assert.Equal(t, hex.EncodeToString(sum[:]), copied.Annotations[pub.ResourceDistributionHashKey])
		assert.Equal(t, "d", copied.Annotations[pub.ResourceDistributedFromKey])
	}
}

// Case resourcedistribution 14.
func TestStringDataIsWrittenOnce(t *testing.T) {
	w := newWorld(t, aSecret, include("a"))
	w.settle()
	secret, err := w.Kube.CoreV1().Secrets("a").Get(t.Context(), "copy", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"a": []byte("1")}, secret.Data)
	assert.Empty(t, secret.StringData)
	assert.Equal(t, corev1.SecretTypeOpaque, secret.Type)
	w.Kube.ClearActions()
	assert.Empty(t, w.settle())
	secret.Data["a"] = []byte("theirs")
	w.Update(secret)
	assert.Equal(t, []string{"update secrets copy"}, w.settle())
}

// Case resourcedistribution 15.
func TestFailuresInSomeNamespacesDoNotStopTheOthers(t *testing.T) {
	w := newWorld(t, aConfigMap, everywhere)
	for i := range 197 {
		w.Add(namespace(fmt.Sprintf("n-%03d", i)))
	}
	failing := map[string]bool{"n-000": true, "n-100": true, "n-196": true}
	w.Kube.PrependReactor("create", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return failing[action.GetNamespace()], nil, errors.New("it fails")
	})
	w.Observe()
	_, err := w.Pass("", "d")
	require.ErrorContains(t, err, "it fails", "the failures are worth a retry")
	status := w.distribution().Status
	assert.Equal(t, []int32{200, 197, 3}, []int32{status.Desired, status.Succeeded, status.Failed})
	reason, namespaces := w.failed(v1beta1.ResourceDistributionCreateResourceFailed)
	assert.Equal(t, "it fails", reason)
	assert.Equal(t, "n-000 n-100 n-196", namespaces)

	clear(failing)
	w.Writes()
	assert.Len(t, w.settle(), 4, "three copies and the status")
	assert.Zero(t, w.distribution().Status.Failed)
}

// Each write of the status starts another pass at once, so a text that differs at each attempt must not be written each time.
func TestNewTextOfALastingFailureIsWrittenOnceInAWhile(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a"))
	attempt := 0
	w.Kube.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		attempt++
		return true, nil, fmt.Errorf("attempt %d", attempt)
	})
	written := func() (texts []string) {
		for range 5 {
			w.Observe()
			w.Writes()
			w.Clock.SetTime(w.Clock.Now().Add(time.Second))
			_, err := w.Pass("", "d")
			require.Error(t, err)
			if slices.Contains(w.Writes(), "update resourcedistributions/status d") {
				text, _ := w.failed(v1beta1.ResourceDistributionCreateResourceFailed)
				texts = append(texts, text)
			}
		}
		return texts
	}
	assert.Equal(t, []string{"attempt 1"}, written())
	w.Clock.SetTime(w.Clock.Now().Add(controller.RewordAfter))
	assert.Equal(t, []string{"attempt 6"}, written(), "the latest text is written")
	w.edit(func(*v1beta1.ResourceDistributionSpec) {})
	assert.Equal(t, []string{"attempt 11"}, written(), "the text of the new spec")
}

func TestUpdateAndDeletionFailuresAreNamed(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a", "b"))
	w.settle()
	refuse := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("refused") }
	w.Kube.PrependReactor("update", "configmaps", refuse)
	w.Kube.PrependReactor("delete", "configmaps", refuse)
	w.edit(func(spec *v1beta1.ResourceDistributionSpec) {
		spec.Resource.Raw = []byte(strings.ReplaceAll(aConfigMap, `"a":"1"`, `"a":"2"`))
		include("a")(&spec.Targets)
	})
	w.Observe()
	_, err := w.Pass("", "d")
	require.ErrorContains(t, err, "refused")
	_, namespaces := w.failed(v1beta1.ResourceDistributionUpdateResourceFailed)
	assert.Equal(t, "a", namespaces)
	_, namespaces = w.failed(v1beta1.ResourceDistributionDeleteResourceFailed)
	assert.Equal(t, "b", namespaces)
	status := w.distribution().Status
	assert.Equal(t, []int32{1, 0, 1}, []int32{status.Desired, status.Succeeded, status.Failed}, "a copy too many is not counted")
}

func TestWriteMeetsAnotherWriter(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a"))
	w.settle()
	w.edit(func(spec *v1beta1.ResourceDistributionSpec) {
		spec.Resource.Raw = []byte(strings.ReplaceAll(aConfigMap, `"a":"1"`, `"a":"2"`))
	})
	conflicts := 2
	w.Kube.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts--
		return conflicts >= 0, nil, apierrors.NewConflict(configMaps.GroupResource(), "copy", errors.New("changed"))
	})
	w.settle()
	assert.Equal(t, "2", w.configMap("a").Data["a"])
}

// Case resourcedistribution 17.
func TestTerminatingNamespaceGetsNoCopy(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a", "b"))
	dying := namespace("a")
	dying.DeletionTimestamp, dying.Finalizers = new(metav1.NewTime(w.Clock.Now())), []string{"x/y"}
	assert.Equal(t, needsCopy, mustTargets(t, include("a")).of("a", namespace("a")))
	w.Update(dying)
	assert.Equal(t, []string{"create configmaps", "update resourcedistributions/status d"}, w.settle())
	assert.Equal(t, "b", w.in())
	_, namespaces := w.failed(v1beta1.ResourceDistributionNamespaceNotExists)
	assert.Equal(t, "a", namespaces)
	w.Kube.ClearActions()
	w.Step("", "d")
	assert.Empty(t, w.Kube.Actions(), "no attempts")
	assert.Equal(t, []types.NamespacedName{{Name: "d"}}, w.r.namespaceChanged(namespace("b"), nil), "deleted")
	assert.Equal(t, []types.NamespacedName{{Name: "d"}}, w.r.namespaceChanged(namespace("a"), dying))
}

// Pods that end in a namespace that is being deleted can still need the copy. It goes with the namespace.
func TestTerminatingNamespaceKeepsItsCopy(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a", "b"))
	w.settle()
	require.Equal(t, "a b", w.in())
	dying := namespace("a")
	dying.DeletionTimestamp, dying.Finalizers = new(metav1.NewTime(w.Clock.Now())), []string{"x/y"}
	w.Update(dying)
	w.settle()
	assert.Equal(t, "a b", w.in())
	_, namespaces := w.failed(v1beta1.ResourceDistributionNamespaceNotExists)
	assert.Equal(t, "a", namespaces)
	w.edit(func(spec *v1beta1.ResourceDistributionSpec) { include("b")(&spec.Targets) })
	w.settle()
	assert.Equal(t, "a b", w.in(), "it is no target any more")
}

func mustTargets(t *testing.T, edits ...func(*v1beta1.ResourceDistributionTargets)) *targets {
	t.Helper()
	spec := &v1beta1.ResourceDistributionTargets{}
	for _, edit := range edits {
		edit(spec)
	}
	found, err := newTargets(spec)
	require.NoError(t, err)
	return found
}

// TestNamespaceThatTerminatesMeanwhile is found by the answer of the server, because the cache is late.
func TestNamespaceThatTerminatesMeanwhile(t *testing.T) {
	for name, answer := range map[string]error{
		"terminating": &apierrors.StatusError{ErrStatus: metav1.Status{
			Reason: metav1.StatusReasonForbidden, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
		}},
		"gone": apierrors.NewNotFound(corev1.Resource("namespaces"), "a"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, aConfigMap, include("a"))
			w.Kube.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, answer })
			w.Step("", "d")
			_, namespaces := w.failed(v1beta1.ResourceDistributionNamespaceNotExists)
			assert.Equal(t, "a", namespaces)
		})
	}
}

// Case resourcedistribution 18.
func TestNoTargetsRemoveAllCopies(t *testing.T) {
	w := newWorld(t, aConfigMap, everywhere)
	w.settle()
	w.edit(func(spec *v1beta1.ResourceDistributionSpec) { spec.Targets = v1beta1.ResourceDistributionTargets{} })
	w.settle()
	assert.Empty(t, w.in())
	status := w.distribution().Status
	assert.Equal(t, []int32{0, 0, 0}, []int32{status.Desired, status.Succeeded, status.Failed})
	assert.Equal(t, int64(2), status.ObservedGeneration)
}

// TestCopiesOfAnotherGoOfTheSameName belong to a ResourceDistribution that was deleted, and are left to the garbage collector.
func TestCopiesOfADistributionOfTheSameName(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a"))
	w.settle()
	old := w.configMap("a")
	old.OwnerReferences[0].UID = "before"
	w.Update(old)
	w.settle()
	_, namespaces := w.failed(v1beta1.ResourceDistributionConflictOccurred)
	assert.Equal(t, "a", namespaces)
}

// A ResourceDistribution that is deleted and created again meets its old copies. The garbage collector deletes them soon, and their
// deletions are the last events.
func TestOldCopiesAreReplacedAsSoonAsTheyAreGone(t *testing.T) {
	for name, tc := range map[string]struct {
		cached   bool
		requests int
	}{
		"the cache has them":               {true, 0},
		"the cache does not have them yet": {false, 4},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, aConfigMap, include("a", "b"))
			w.settle()
			again := w.distribution()
			again.UID, again.Status = "again", v1beta1.ResourceDistributionStatus{}
			require.NoError(t, w.Kruise.AppsV1beta1().ResourceDistributions().Delete(t.Context(), "d", metav1.DeleteOptions{}))
			w.Add(again)
			w.Observe()
			if !tc.cached {
				require.NoError(t, w.r.configMaps.cached.Replace(nil, ""))
			}
			w.Kube.ClearActions()
			_, err := w.Pass("", "d")
			require.NoError(t, err)
			assert.Len(t, w.Kube.Actions(), tc.requests)
			_, namespaces := w.failed(v1beta1.ResourceDistributionConflictOccurred)
			assert.Equal(t, "a b", namespaces)

			for _, name := range []string{"a", "b"} {
				require.NoError(t, w.Kube.CoreV1().ConfigMaps(name).Delete(t.Context(), "copy", metav1.DeleteOptions{}))
			}
			w.Step("", "d")
			assert.Equal(t, "a b", w.in())
			assert.Zero(t, w.distribution().Status.Failed)
		})
	}
}

// Two ResourceDistributions have the same resource. When the copies of one are gone for good, the other one is told.
func TestPlaceOfADeletedCopyIsFilled(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a", "b"))
	for name, resource := range map[string]string{"same": aConfigMap, "secret": aSecret, "broken": "{"} {
		w.Add(&v1beta1.ResourceDistribution{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1},
			Spec:       v1beta1.ResourceDistributionSpec{Resource: runtime.RawExtension{Raw: []byte(resource)}},
		})
	}
	w.settle()
	gone := w.configMap("a")
	assert.Empty(t, w.r.freed("ConfigMap", nil, gone), "created")
	assert.Empty(t, w.r.freed("ConfigMap", gone, gone), "changed")
	assert.Empty(t, w.r.freed("ConfigMap", gone, nil), "its owner creates it again")

	both := []types.NamespacedName{{Name: "d"}, {Name: "same"}}
	w.edit(func(spec *v1beta1.ResourceDistributionSpec) {
		spec.Targets.IncludedNamespaces.List = list([]string{"b"})
	})
	w.Observe()
	assert.ElementsMatch(t, both, w.r.freed("ConfigMap", gone, nil), "its owner left the namespace out")
	assert.Empty(t, w.r.freed("ConfigMap", w.configMap("b"), nil))
	assert.Equal(t, []types.NamespacedName{{Name: "secret"}}, w.r.freed("Secret", gone, nil))

	owner := w.distribution()
	owner.UID = "again"
	require.NoError(t, w.Kruise.AppsV1beta1().ResourceDistributions().Delete(t.Context(), "d", metav1.DeleteOptions{}))
	w.Add(owner)
	w.Observe()
	assert.ElementsMatch(t, both, w.r.freed("ConfigMap", w.configMap("b"), nil), "its owner was deleted and created again")
	gone.Name = "other"
	assert.Empty(t, w.r.freed("ConfigMap", gone, nil))
}

func TestConditionKeepsTheTimeOfItsTransition(t *testing.T) {
	w := newWorld(t, aConfigMap, include("missing"))
	w.settle()
	w.Clock.SetTime(w.Clock.Now().Add(time.Hour))
	w.edit(func(spec *v1beta1.ResourceDistributionSpec) { include("missing", "lost")(&spec.Targets) })
	w.settle()
	conditions := w.distribution().Status.Conditions
	assert.Equal(t, w.Clock.Now().Add(-time.Hour), conditions[5].LastTransitionTime.Time)
	assert.Equal(t, []string{"lost", "missing"}, conditions[5].FailedNamespaces)
}

// TestCacheHoldsNoContent, so that memory does not depend on the size of the copies.
func TestCacheHoldsNoContent(t *testing.T) {
	w := newWorld(t, aSecret, include("a"))
	w.settle()
	w.Observe()
	items := w.r.secrets.cached.List()
	require.Len(t, items, 1)
	assert.IsType(t, &seen{}, items[0])
	again, err := reduce(items[0])
	require.NoError(t, err)
	assert.Same(t, items[0], again, "a transform may be called twice")
}

// Each pass over many namespaces takes long, so a change of the spec must not wait for its end.
func TestChangeOfTheSpecEndsAPass(t *testing.T) {
	w := newWorld(t, aConfigMap, everywhere)
	for i := range 50 {
		w.Add(namespace(fmt.Sprintf("n%02d", i)))
	}
	w.Kube.PrependReactor("create", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetNamespace() == "n03" {
			d := w.distribution()
			d.Spec.Resource.Raw, d.Generation = []byte(strings.ReplaceAll(aConfigMap, `"a":"1"`, `"a":"2"`)), 2
			w.Update(d)
			w.Observe()
		}
		return false, nil, nil
	})
	w.Step("", "d")
	old := strings.Fields(w.in())
	assert.Contains(t, old, "n03")
	assert.Less(t, len(old), 40)
	assert.Zero(t, w.distribution().Status.ObservedGeneration, "no status of a pass that a change has ended")
	w.settle()
	assert.Len(t, strings.Fields(w.in()), 53)
	for name := range strings.FieldsSeq(w.in()) {
		assert.Equal(t, "2", w.configMap(name).Data["a"], name)
	}
}

// unlabelled is a copy as OpenKruise makes it: it lacks the label of copies.
func unlabelled(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "copy", Namespace: namespace, UID: types.UID("old-" + namespace), Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "d", UID: "d"}, kind.GroupKind().WithVersion("v1alpha1")),
			},
		},
		Data: map[string]string{"a": "0"},
	}
}

// distributed marks the ResourceDistribution as one that OpenKruise has distributed.
func (w *world) distributed() *world {
	d := w.distribution()
	d.Status.ObservedGeneration = 1
	w.Update(d)
	return w
}

// OpenKruise copied into kube-system with allNamespaces and with a selector. Pods there may use the copy, so it is kept right, but no
// other one is created.
func TestCopyOfOpenKruiseInASystemNamespaceIsKeptRight(t *testing.T) {
	for name, edits := range map[string][]func(*v1beta1.ResourceDistributionTargets){
		"allNamespaces": {everywhere}, "selector": {include("a", "b", "c"), labelled("system")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, aConfigMap, edits...).distributed()
			w.Update(namespace("kube-system", "system"))
			w.Add(unlabelled("kube-system"))
			w.settle()
			assert.Equal(t, "a b c kube-system", w.in())
			assert.Equal(t, map[string]string{"a": "1"}, w.configMap("kube-system").Data)
			assert.Contains(t, w.configMap("kube-system").Labels, "kruise.io/resourcedistribution.copy")
			assert.EqualValues(t, 3, w.distribution().Status.Succeeded, "it is not one of the targets")

			w.edit(func(spec *v1beta1.ResourceDistributionSpec) {
				spec.Resource.Raw = []byte(strings.Replace(aConfigMap, `"a":"1"`, `"a":"2"`, 1))
			})
			w.settle()
			assert.Equal(t, map[string]string{"a": "2"}, w.configMap("kube-system").Data)
			w.edit(func(spec *v1beta1.ResourceDistributionSpec) { exclude("kube-system")(&spec.Targets) })
			w.settle()
			assert.Equal(t, "a b c", w.in())
		})
	}
}

func TestCopyOfOpenKruiseInASystemNamespaceIsDeletedIfNoTargetReachesIt(t *testing.T) {
	w := newWorld(t, aConfigMap, include("a")).distributed()
	foreign := unlabelled("kube-public")
	foreign.OwnerReferences[0].UID = "another"
	w.Add(unlabelled("kube-system"), foreign)
	w.settle()
	assert.Equal(t, "a", w.in())
	assert.Equal(t, map[string]string{"a": "0"}, w.configMap("kube-public").Data, "the copy of another one")
	_, conflicting := w.failed(v1beta1.ResourceDistributionConflictOccurred)
	assert.Empty(t, conflicting)
}

func TestSystemNamespacesAreReadOnce(t *testing.T) {
	w := newWorld(t, aConfigMap, everywhere).distributed()
	gets, broken := 0, true
	w.Kube.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		gets++
		if broken {
			return true, nil, errors.New("out of order")
		}
		return false, nil, nil
	})
	w.Observe()
	_, err := w.Pass("", "d")
	require.Error(t, err)
	reason, namespaces := w.failed(v1beta1.ResourceDistributionGetResourceFailed)
	assert.Equal(t, []string{"out of order", "kube-public kube-system"}, []string{reason, namespaces})
	assert.Zero(t, w.distribution().Status.Failed)
	gets, broken = 0, false
	w.settle()
	w.edit(func(spec *v1beta1.ResourceDistributionSpec) { exclude("a")(&spec.Targets) })
	w.settle()
	assert.Equal(t, 2, gets)
	assert.Equal(t, "b c", w.in())
}
