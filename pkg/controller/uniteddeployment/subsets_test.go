package uniteddeployment

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/history"
)

func scale(replicas int32) func(*v1beta1.UnitedDeployment) {
	return func(u *v1beta1.UnitedDeployment) { u.Spec.Replicas = &replicas }
}

func image(name string) func(*v1beta1.UnitedDeployment) {
	return func(u *v1beta1.UnitedDeployment) {
		template := &u.Spec.Template
		switch {
		case template.CloneSetTemplate != nil:
			template.CloneSetTemplate.Spec.Template.Spec.Containers[0].Image = name
		case template.DeploymentTemplate != nil:
			template.DeploymentTemplate.Spec.Template.Spec.Containers[0].Image = name
		case template.StatefulSetTemplate != nil:
			template.StatefulSetTemplate.Spec.Template.Spec.Containers[0].Image = name
		default:
			template.AdvancedStatefulSetTemplate.Spec.Template.Spec.Containers[0].Image = name
		}
	}
}

// Cases uniteddeployment 1, 2.
func TestEachSubsetHasAWorkload(t *testing.T) {
	for name, template := range map[string]v1beta1.SubsetTemplate{
		"CloneSet": ofCloneSets(), "Deployment": ofDeployments(), "StatefulSet": ofStatefulSets(), "advanced": ofAdvancedStatefulSets(),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, template)
			w.settle()
			kind := strings.Replace(name, "advanced", "StatefulSet", 1)
			assert.Equal(t, []string{"Normal SuccessfulUpdateSubset Create 2 Subset (" + kind + ")"}, w.Events())
			assert.Equal(t, []int32{2, 3}, w.replicas())
			revision := w.united().Status.CurrentRevision
			for name, workload := range w.workloads() {
				assert.True(t, strings.HasPrefix(workload.GetName(), "web-"+name+"-"))
				assert.Equal(t, map[string]string{"app": "web", pub.SubsetNameKey: name, pub.KruiseControllerRevisionHashKey: revision},
					workload.GetLabels())
				assert.True(t, metav1.IsControlledBy(workload, w.united()))
			}
			w.edit(scale(6))
			assert.Equal(t, []int32{3, 3}, w.replicas())
		})
	}
}

// Case uniteddeployment 1.
func TestWorkloadOfASubset(t *testing.T) {
	w := newWorld(t, ofAdvancedStatefulSets())
	w.settle()
	set := w.workloads()["b"].(*v1beta1.StatefulSet)
	assert.Equal(t, map[string]string{"app": "web", pub.SubsetNameKey: "b"}, set.Spec.Selector.MatchLabels)
	assert.Equal(t, set.Labels, set.Spec.Template.Labels)
	terms := set.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	assert.Equal(t, []corev1.NodeSelectorTerm{zone("b")}, terms)
	assert.Equal(t, []corev1.Toleration{{Key: "b", Operator: corev1.TolerationOpExists}}, set.Spec.Template.Spec.Tolerations)
}

// Case uniteddeployment 17.
func TestWorkloadHasTheWholeSpecOfTheTemplate(t *testing.T) {
	template := ofCloneSets()
	spec := &template.CloneSetTemplate.Spec
	spec.Lifecycle = &pub.Lifecycle{PreDelete: &pub.LifecycleHook{FinalizersHandler: []string{"example.com/hold"}}}
	spec.ScaleStrategy.MaxUnavailable = new(intstr.FromInt32(1))
	spec.MinReadySeconds = 5
	w := newWorld(t, template)
	w.settle()
	set := w.cloneSet("a")
	assert.Equal(t, spec.Lifecycle, set.Spec.Lifecycle)
	assert.Equal(t, spec.ScaleStrategy, set.Spec.ScaleStrategy)
	assert.EqualValues(t, 5, set.Spec.MinReadySeconds)
}

// Case uniteddeployment 6.
func TestPartitionsHoldPodsOfASubset(t *testing.T) {
	for name, template := range map[string]v1beta1.SubsetTemplate{
		"CloneSet": ofCloneSets(), "StatefulSet": ofStatefulSets(), "advanced": ofAdvancedStatefulSets(),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, template)
			w.settle()
			hold := func(partition int32) func(*v1beta1.UnitedDeployment) {
				return func(u *v1beta1.UnitedDeployment) {
					image("web:2")(u)
					u.Spec.UpdateStrategy.ManualUpdate = &v1beta1.ManualUpdate{Partitions: map[string]int32{"a": partition}}
				}
			}
			for _, partition := range []int32{2, 1} { // Only the partition changes at the end.
				w.edit(hold(partition))
				assert.Equal(t, map[string]int32{"a": partition, "b": 0}, w.held())
				assert.Equal(t, w.held(), w.partitions())
			}
		})
	}
}

// Case uniteddeployment 11.
func TestDeploymentIsUpdatedWhole(t *testing.T) {
	w := newWorld(t, ofDeployments())
	w.settle()
	w.edit(func(u *v1beta1.UnitedDeployment) {
		image("web:2")(u)
		u.Spec.UpdateStrategy.ManualUpdate = &v1beta1.ManualUpdate{Partitions: map[string]int32{"a": 2}}
	})
	for _, workload := range w.workloads() {
		assert.Equal(t, "web:2", workload.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image)
	}
	deployment := w.workloads()["a"]
	w.Add(replicaSetOf(deployment), podOf("old", "set", map[string]string{pub.SubsetNameKey: "a"}))
	w.settle()
	assert.Equal(t, map[string]int32{"a": 0, "b": 0}, w.partitions(), "a Pod at the old revision is not held by a partition")
}

// Case uniteddeployment 8.
func TestRemovedSubsetLosesItsWorkload(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	removed := w.cloneSet("b").Name
	var propagation metav1.DeletionPropagation
	w.Kruise.PrependReactor("delete", "clonesets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		propagation = *action.(clienttesting.DeleteAction).GetDeleteOptions().PropagationPolicy
		return false, nil, nil
	})
	writes := w.edit(func(u *v1beta1.UnitedDeployment) { u.Spec.Topology.Subsets = u.Spec.Topology.Subsets[:1] })
	assert.Contains(t, writes, "delete clonesets "+removed)
	assert.Equal(t, metav1.DeletePropagationBackground, propagation)
	assert.Equal(t, []int32{5}, w.replicas())
	assert.Contains(t, w.Events(), "Normal SuccessfulUpdateSubset Delete 1 Subset (CloneSet)")
	assert.Equal(t, map[string]int32{"a": 5}, w.shares())
}

// Case uniteddeployment 9.
func TestAnotherKindTakesTheirPlace(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	w.edit(func(u *v1beta1.UnitedDeployment) { u.Spec.Template = ofStatefulSets() })
	assert.Equal(t, []int32{2, 3}, w.replicas())
	for _, workload := range w.workloads() {
		assert.IsType(t, &appsv1.StatefulSet{}, workload)
	}
}

// Case uniteddeployment 12.
func TestRollbackUsesTheOldRevision(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	first := w.united().Status.UpdatedRevision
	w.edit(image("web:2"))
	second := w.united().Status.UpdatedRevision
	assert.NotEqual(t, first, second)
	assert.Equal(t, first, w.united().Status.CurrentRevision)
	w.edit(image("web:1"))
	assert.Equal(t, first, w.united().Status.UpdatedRevision)
	assert.Equal(t, "web:1", w.cloneSet("a").Spec.Template.Spec.Containers[0].Image)
	revisions, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, revisions.Items, 2)
}

func TestOldRevisionsAreDeletedUnlessInUse(t *testing.T) {
	w := newWorld(t, ofCloneSets(), func(u *v1beta1.UnitedDeployment) { u.Spec.RevisionHistoryLimit = ptr.To[int32](1) })
	w.settle()
	current := w.united().Status.CurrentRevision
	for _, name := range []string{"web:2", "web:3", "web:4", "web:5"} {
		w.edit(image(name))
	}
	revisions, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var names []string
	for i := range revisions.Items {
		names = append(names, revisions.Items[i].Name)
	}
	assert.Len(t, names, 3)
	assert.Contains(t, names, current)
	assert.Equal(t, current, w.united().Status.CurrentRevision)
}

func TestRevisionsWithTheSameTemplateAreEqual(t *testing.T) {
	one, two := ofCloneSets(), ofDeployments()
	a, err := history.Data(&one)
	require.NoError(t, err)
	b, err := history.Data(&two)
	require.NoError(t, err)
	same := func(a, b []byte) bool { return sameTemplate(storing(a, ""), storing(b, "")) }
	assert.False(t, same(a, b))
	one.CloneSetTemplate.Spec.MinReadySeconds = 1
	c, err := history.Data(&one)
	require.NoError(t, err)
	assert.False(t, same(a, c))
	spaced, err := json.MarshalIndent(json.RawMessage(a), "", " ")
	require.NoError(t, err)
	assert.True(t, same(a, spaced))
	assert.False(t, same([]byte(`{}`), []byte(`{"spec":{}}`)))
}

// Case uniteddeployment 13.
func TestSecondWorkloadOfASubsetIsDeleted(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	second := w.cloneSet("a").DeepCopy()
	kept := second.Name
	w.pass(1)
	second.Name, second.UID, second.ResourceVersion = "by-hand", "by-hand", ""
	second.CreationTimestamp = metav1.NewTime(w.Clock.Now())
	w.Add(second)
	assert.Contains(t, w.settle(), "delete clonesets by-hand")
	assert.Equal(t, kept, w.cloneSet("a").Name)
}

func TestWorkloadThatIsBeingDeletedIsReplaced(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	set := w.cloneSet("a")
	set.DeletionTimestamp, set.Finalizers = new(metav1.NewTime(w.Clock.Now())), []string{"example.com/hold"}
	w.Update(set)
	assert.Contains(t, strings.Join(w.settle(), "\n"), "create clonesets")
}

func TestWorkloadWithoutASubsetLabelIsLeftAlone(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	stray := w.cloneSet("a").DeepCopy()
	stray.Name, stray.UID, stray.ResourceVersion = "stray", "stray", ""
	delete(stray.Labels, pub.SubsetNameKey)
	w.Add(stray)
	assert.Empty(t, w.settle())
}

// Case uniteddeployment 15.
func TestNamesOfWorkloads(t *testing.T) {
	plain, sets := &adapter{}, &adapter{longest: longestInLabel}
	assert.Equal(t, "web-a-", plain.prefix("web", "a"))
	assert.Equal(t, "my.web-a-", plain.prefix("my.web", "a"))
	long := strings.Repeat("x", 250)
	assert.Equal(t, long+"-", plain.prefix(long, "zone"))
	prefix := sets.prefix(strings.Repeat("a.", 30)+"x", "zone")
	assert.LessOrEqual(t, len(prefix), longestInLabel)
	assert.True(t, strings.HasSuffix(prefix, "a-"))
	assert.Equal(t, "hash", labelOf(strings.Repeat("x", 80)+"-hash"))

	w := newWorld(t, ofCloneSets(), func(u *v1beta1.UnitedDeployment) {
		u.Spec.Topology.Subsets[0].Name = strings.Repeat("s", 63)
	})
	w.settle()
	assert.Len(t, w.workloads(), 2)
}

// Pods have the name of their workload and the hash of a revision in one label. If it were too long, no Pod could be created.
func TestLongNamesLeaveRoomForTheHashOfARevision(t *testing.T) {
	for name, template := range map[string]v1beta1.SubsetTemplate{
		"CloneSet": ofCloneSets(), "StatefulSet": ofStatefulSets(), "advanced StatefulSet": ofAdvancedStatefulSets(),
	} {
		t.Run(name, func(t *testing.T) {
			subset := strings.Repeat("s", 60)
			w := newWorld(t, template, func(u *v1beta1.UnitedDeployment) { u.Spec.Topology.Subsets[0].Name = subset })
			w.settle()
			revision := w.workloads()[subset].GetName() + "-" + strings.Repeat("x", 10)
			assert.Empty(t, validation.IsValidLabelValue(revision))
			assert.Empty(t, w.settle(), "the workload is found by its label")
		})
	}
}

// Case uniteddeployment 20.
func TestSelectorWithoutMatchLabels(t *testing.T) {
	exists := metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpExists}
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{exists}}
	w := newWorld(t, ofCloneSets(), func(u *v1beta1.UnitedDeployment) { u.Spec.Selector = selector })
	w.settle()
	assert.Equal(t, []int32{2, 3}, w.replicas())
	assert.Equal(t, &metav1.LabelSelector{
		MatchLabels: map[string]string{pub.SubsetNameKey: "a"}, MatchExpressions: selector.MatchExpressions,
	}, w.cloneSet("a").Spec.Selector)
	assert.Equal(t, "app", w.united().Status.LabelSelector)
}

// Case uniteddeployment 22.
func TestFieldsOfOthersStay(t *testing.T) {
	w := newWorld(t, ofCloneSets(), func(u *v1beta1.UnitedDeployment) {
		u.Spec.Template.CloneSetTemplate.Annotations = map[string]string{"ours": "1", "dropped": "1"}
		u.Spec.Template.CloneSetTemplate.Spec.MinReadySeconds = 5
	})
	w.settle()
	set := w.cloneSet("a")
	set.Annotations["theirs"] = "1"
	set.Spec.ScaleStrategy.PodsToDelete = []string{"web-a-x"}
	set.Spec.Template.Spec.Containers = append(set.Spec.Template.Spec.Containers, corev1.Container{Name: "injected", Image: "agent:1"})
	w.Update(set)
	w.edit(func(u *v1beta1.UnitedDeployment) {
		image("web:2")(u)
		delete(u.Spec.Template.CloneSetTemplate.Annotations, "dropped")
		u.Spec.Template.CloneSetTemplate.Spec.MinReadySeconds = 0
	})
	set = w.cloneSet("a")
	assert.Equal(t, map[string]string{"ours": "1", "theirs": "1"}, set.Annotations)
	assert.Equal(t, []string{"web-a-x"}, set.Spec.ScaleStrategy.PodsToDelete)
	assert.Zero(t, set.Spec.MinReadySeconds)
	images := map[string]string{}
	for _, c := range set.Spec.Template.Spec.Containers {
		images[c.Name] = c.Image
	}
	assert.Equal(t, map[string]string{"main": "web:2", "injected": "agent:1"}, images)
}

// Case uniteddeployment 22.
func TestAnnotationsOfOthersStayWithoutAnyOfTheTemplate(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	set := w.cloneSet("a")
	set.Annotations = map[string]string{"theirs": "1"}
	w.Update(set)
	w.edit(image("web:2"))
	assert.Equal(t, map[string]string{"theirs": "1"}, w.cloneSet("a").Annotations)
}

// Case uniteddeployment 22.
func TestFilledInDefaultsAreNotWrittenAgain(t *testing.T) {
	w := newWorld(t, ofDeployments())
	w.settle()
	deployment := w.workloads()["a"].(*appsv1.Deployment)
	deployment.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	deployment.Spec.Template.Spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
	w.Update(deployment)
	assert.Empty(t, w.settle())
	w.edit(scale(7))
	deployment = w.workloads()["a"].(*appsv1.Deployment)
	assert.Equal(t, corev1.PullIfNotPresent, deployment.Spec.Template.Spec.Containers[0].ImagePullPolicy)
	assert.Equal(t, appsv1.RollingUpdateDeploymentStrategyType, deployment.Spec.Strategy.Type)
}

// Case uniteddeployment 23.
func TestPatchOfASubset(t *testing.T) {
	patch := func(raw string) func(*v1beta1.UnitedDeployment) {
		return func(u *v1beta1.UnitedDeployment) {
			u.Spec.Topology.Subsets[0].Patch = &runtime.RawExtension{Raw: []byte(raw)}
		}
	}
	const first = `{"spec":{"containers":[{"name":"main","image":"web:arm"}]},"metadata":{"labels":{"arch":"arm"}}}`
	w := newWorld(t, ofCloneSets(), patch(first))
	w.settle()
	set := w.cloneSet("a")
	assert.Equal(t, first, set.Annotations[pub.SubsetPatchKey])
	assert.Equal(t, "web:arm", set.Spec.Template.Spec.Containers[0].Image)
	assert.Equal(t, "web:1", w.cloneSet("b").Spec.Template.Spec.Containers[0].Image)
	w.edit(patch(`{"spec":{"priority":5}}`))
	set = w.cloneSet("a")
	assert.Equal(t, "web:1", set.Spec.Template.Spec.Containers[0].Image)
	assert.NotContains(t, set.Spec.Template.Labels, "arch")
	assert.Equal(t, ptr.To[int32](5), set.Spec.Template.Spec.Priority)
	w.edit(func(u *v1beta1.UnitedDeployment) { u.Spec.Topology.Subsets[0].Patch = nil })
	assert.NotContains(t, w.cloneSet("a").Annotations, pub.SubsetPatchKey)
	assert.Nil(t, w.cloneSet("a").Spec.Template.Spec.Priority)
}

func TestDeletedUnitedDeploymentWritesNothing(t *testing.T) {
	w := newWorld(t, ofCloneSets(), func(u *v1beta1.UnitedDeployment) {
		u.DeletionTimestamp, u.Finalizers = &metav1.Time{}, []string{"example.com/hold"}
	})
	assert.Empty(t, w.settle())
}

// Case uniteddeployment 24.
func TestFailuresAreReported(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	refuse := true
	w.Kruise.PrependReactor("create", "clonesets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return refuse, nil, errors.New("quota exceeded")
	})
	w.Observe()
	_, err := w.Pass("ns", "web")
	require.ErrorContains(t, err, "quota exceeded")
	conditions := w.united().Status.Conditions
	provisioned := conditionIn(conditions, v1beta1.SubsetProvisioned)
	assert.Equal(t, corev1.ConditionFalse, provisioned.Status)
	assert.Equal(t, "Error", provisioned.Reason)
	assert.Equal(t, corev1.ConditionTrue, conditionIn(conditions, v1beta1.SubsetUpdated).Status)
	assert.Contains(t, conditionIn(conditions, v1beta1.SubsetFailure).Message, "quota exceeded")
	assert.Contains(t, strings.Join(w.Events(), "\n"), "Warning FailedUpdateSubset create CloneSet for subset ")
	refuse = false
	w.settle()
	conditions = w.united().Status.Conditions
	assert.Equal(t, corev1.ConditionTrue, conditionIn(conditions, v1beta1.SubsetProvisioned).Status)
	assert.Nil(t, conditionIn(conditions, v1beta1.SubsetFailure))
}

// A policy refuses the workload of one subset, which is the first one.
func TestRefusedSubsetDoesNotHoldUpTheOthers(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.Kruise.PrependReactor("create", "clonesets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, _ := action.(clienttesting.CreateAction)
		set, is := create.GetObject().(*v1beta1.CloneSet)
		return is && set.Labels["apps.kruise.io/subset-name"] == "a", nil, errors.New("not here")
	})
	for range 100 {
		w.Observe()
		_, _ = w.Pass("ns", "web")
	}
	list, err := w.Kruise.AppsV1beta1().CloneSets("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, list.Items, len(w.united().Spec.Topology.Subsets)-1)
}

// Case uniteddeployment 26.
func TestReplicasThatCannotBeAllocated(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	w.Events()
	w.edit(func(u *v1beta1.UnitedDeployment) { u.Spec.Topology.Subsets[0].Replicas = number(9) })
	assert.Equal(t, []int32{2, 3}, w.replicas())
	assert.Equal(t, map[string]int32{"a": 2, "b": 3}, w.shares())
	events := w.Events()
	require.NotEmpty(t, events)
	assert.Contains(t, events[0], "Warning Failed SpecifySubsetReplicas Specified subset replicas is ineffective: ")
	assert.Equal(t, corev1.ConditionFalse, conditionIn(w.united().Status.Conditions, v1beta1.SubsetProvisioned).Status)
}

// A workload is compared with the revision that it names. Without it, fields that the template had would stay.
func TestRevisionThatAWorkloadNamesStays(t *testing.T) {
	w := newWorld(t, ofCloneSets(), func(u *v1beta1.UnitedDeployment) { u.Spec.RevisionHistoryLimit = new(int32(0)) })
	w.settle()
	w.edit(image("web:2"))
	named := w.united().Status.UpdatedRevision
	w.edit(func(u *v1beta1.UnitedDeployment) {
		image("web:3")(u)
		u.Spec.Topology.Subsets[0].Replicas = number(9) // Cannot be allocated, so the workloads are not updated.
	})
	assert.NotEqual(t, named, w.united().Status.UpdatedRevision)
	assert.NotEqual(t, named, w.united().Status.CurrentRevision)
	_, err := w.Kube.AppsV1().ControllerRevisions("ns").Get(t.Context(), named, metav1.GetOptions{})
	require.NoError(t, err)
	w.edit(func(u *v1beta1.UnitedDeployment) { u.Spec.Topology.Subsets[0].Replicas = nil })
	_, err = w.Kube.AppsV1().ControllerRevisions("ns").Get(t.Context(), named, metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "nothing uses it anymore: %v", err)
}
