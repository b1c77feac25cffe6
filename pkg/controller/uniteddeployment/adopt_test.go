package uniteddeployment

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// orphaned returns a world in which the user deleted the UnitedDeployment, kept its workloads, and created it again.
func orphaned(t *testing.T, template v1beta1.SubsetTemplate, edits ...func(*v1beta1.UnitedDeployment)) *world {
	t.Helper()
	w := newWorld(t, template)
	w.settle()
	for _, workload := range w.workloads() {
		workload.SetOwnerReferences(nil)
		w.Update(workload)
	}
	revisions, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, revisions.Items, 1)
	revisions.Items[0].OwnerReferences = nil
	w.Update(&revisions.Items[0])
	united := w.united()
	united.UID, united.Status = "again", v1beta1.UnitedDeploymentStatus{}
	for _, edit := range edits {
		edit(united)
	}
	w.Update(united)
	w.Writes()
	return w
}

// Case uniteddeployment 27.
func TestKeptWorkloadsAreAdopted(t *testing.T) {
	for name, template := range map[string]v1beta1.SubsetTemplate{
		"CloneSet": ofCloneSets(), "Deployment": ofDeployments(), "StatefulSet": ofStatefulSets(), "advanced": ofAdvancedStatefulSets(),
	} {
		t.Run(name, func(t *testing.T) {
			w := orphaned(t, template)
			before := w.workloads()
			writes := strings.Join(w.settle(), "\n")
			assert.NotContains(t, writes, "create")
			assert.Equal(t, 3, strings.Count(writes, "patch"), "two workloads and a revision, nothing else: %s", writes)
			for subset, workload := range w.workloads() {
				assert.Equal(t, before[subset].GetName(), workload.GetName())
				assert.True(t, metav1.IsControlledBy(workload, w.united()))
			}
			assert.Equal(t, map[string]int32{"a": 2, "b": 3}, w.shares())
		})
	}
}

// Case uniteddeployment 27.
func TestWorkloadsThatAreNotAdopted(t *testing.T) {
	for name, edit := range map[string]func(*v1beta1.CloneSet){
		"another application": func(set *v1beta1.CloneSet) { set.Labels["app"] = "other" },
		"another subset":      func(set *v1beta1.CloneSet) { set.Labels[pub.SubsetNameKey] = "z" },
		"another selector":    func(set *v1beta1.CloneSet) { set.Spec.Selector.MatchLabels["x"] = "y" },
		"being deleted": func(set *v1beta1.CloneSet) {
			set.DeletionTimestamp, set.Finalizers = new(metav1.NewTime(now)), []string{"example.com/hold"}
		},
		"controlled by someone else": func(set *v1beta1.CloneSet) {
			other := &v1beta1.UnitedDeployment{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "other"}}
			set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(other, kind)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := orphaned(t, ofCloneSets())
			set := w.cloneSet("a")
			edit(set)
			w.Update(set)
			w.settle()
			stored, err := w.Kruise.AppsV1beta1().CloneSets("ns").Get(t.Context(), set.Name, metav1.GetOptions{})
			require.NoError(t, err)
			assert.Equal(t, set.OwnerReferences, stored.OwnerReferences)
			all, err := w.Kruise.AppsV1beta1().CloneSets("ns").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			assert.Len(t, all.Items, 3, "the subset has a workload of its own")
		})
	}
}

// The garbage collector lets the workloads go before the cache shows that the UnitedDeployment is being deleted.
// Case uniteddeployment 27.
func TestDeletedUnitedDeploymentAdoptsAndCreatesNothing(t *testing.T) {
	for name, owners := range map[string]func(*v1beta1.UnitedDeployment) []metav1.OwnerReference{
		"everything was released": func(*v1beta1.UnitedDeployment) []metav1.OwnerReference { return nil },
		"the workloads were released first": func(u *v1beta1.UnitedDeployment) []metav1.OwnerReference {
			return []metav1.OwnerReference{*metav1.NewControllerRef(u, kind)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := orphaned(t, ofCloneSets())
			revisions, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			revisions.Items[0].OwnerReferences = owners(w.united())
			w.Update(&revisions.Items[0])
			w.Observe()
			w.Writes()
			united := w.united()
			for _, change := range []func(){
				func() {
					united.DeletionTimestamp, united.Finalizers = new(metav1.NewTime(now)), []string{"orphan"}
					w.Update(united)
				},
				func() { united.DeletionTimestamp, united.UID = nil, "once more"; w.Update(united) },
				func() { require.NoError(t, w.Kruise.Tracker().Delete(resource, "ns", "web")) },
			} {
				change()
				_, err = w.Pass("ns", "web")
				require.NoError(t, err)
				assert.Empty(t, w.Writes())
				assert.NotContains(t, strings.Join(w.Events(), "\n"), "Failed")
			}
		})
	}
}

// Of two workloads of a subset without a controller, the older is adopted. The other one stays as it is.
// Case uniteddeployment 27.
func TestOneWorkloadOfASubsetIsAdopted(t *testing.T) {
	w := orphaned(t, ofCloneSets())
	older := w.cloneSet("a").Name
	second := w.cloneSet("a")
	w.pass(1)
	second.Name, second.UID, second.ResourceVersion = "another", "another", ""
	second.CreationTimestamp = metav1.NewTime(w.Clock.Now())
	w.Add(second)
	w.settle()
	owned := map[string]bool{}
	all, err := w.Kruise.AppsV1beta1().CloneSets("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range all.Items {
		if metav1.IsControlledBy(&all.Items[i], w.united()) {
			owned[all.Items[i].Name] = true
		}
	}
	assert.Len(t, all.Items, 3)
	assert.Contains(t, slices.Collect(maps.Keys(owned)), older)
	assert.NotContains(t, owned, "another")
}

func TestRevisionsOfOthersAreNotAdopted(t *testing.T) {
	for name, edit := range map[string]func(name string, data []byte) (string, []byte){
		"of a StatefulSet":    func(name string, _ []byte) (string, []byte) { return name, []byte(`{"spec":{"template":{"spec":{}}}}`) },
		"of another owner":    func(_ string, data []byte) (string, []byte) { return "other-1", data },
		"that cannot be read": func(name string, _ []byte) (string, []byte) { return name, []byte(`[]`) },
	} {
		t.Run(name, func(t *testing.T) {
			w := orphaned(t, ofCloneSets())
			revisions, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			revision := &revisions.Items[0]
			revision.Name, revision.UID = "web-other", "other"
			revision.Name, revision.Data.Raw = edit(revision.Name, revision.Data.Raw)
			w.Add(revision)
			w.settle()
			stored, err := w.Kube.AppsV1().ControllerRevisions("ns").Get(t.Context(), revision.Name, metav1.GetOptions{})
			require.NoError(t, err)
			assert.Empty(t, stored.OwnerReferences)
		})
	}
}
