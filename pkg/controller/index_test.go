package controller_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"kruise.io/kruise/pkg/controller"
)

func TestObjectsAreFoundByTheNameOfAnUnwatchedController(t *testing.T) {
	informer := informers.NewSharedInformerFactory(kubefake.NewClientset(), 0).Core().V1().Pods().Informer()
	require.NoError(t, controller.IndexByUnwatched(informer))
	require.NoError(t, controller.IndexByUnwatched(informer), "several controllers use it")
	for name, ref := range map[string]metav1.OwnerReference{
		"custom":  {APIVersion: "example.com/v1", Kind: "Game", Name: "a", Controller: new(true)},
		"job":     {APIVersion: "batch/v1", Kind: "Job", Name: "a", Controller: new(true)},
		"watched": {APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "a", Controller: new(true)},
		"other":   {APIVersion: "example.com/v1", Kind: "Game", Name: "b", Controller: new(true)},
		"owned":   {APIVersion: "example.com/v1", Kind: "Game", Name: "a"},
	} {
		require.NoError(t, informer.GetIndexer().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, OwnerReferences: []metav1.OwnerReference{ref},
		}}))
	}
	require.NoError(t, informer.GetIndexer().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "bare"}}))
	pods, err := controller.ByUnwatched[*corev1.Pod](informer.GetIndexer(), types.NamespacedName{Namespace: "ns", Name: "a"})
	require.NoError(t, err)
	names := []string{}
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	assert.ElementsMatch(t, []string{"custom", "job"}, names)
}

// An owner reference has no namespace, and its UID is not checked. So an object can name the owner of another namespace.
func TestObjectsOfAnOwnerAreOfItsNamespace(t *testing.T) {
	informer := informers.NewSharedInformerFactory(kubefake.NewClientset(), 0).Core().V1().Pods().Informer()
	kind := schema.GroupKind{Group: "apps.kruise.io", Kind: "SidecarSet"}
	require.NoError(t, controller.IndexByOwner(informer))
	require.NoError(t, controller.IndexByClusterOwner(informer, kind))
	for key, kind := range map[types.NamespacedName]string{
		{Namespace: "prod", Name: "own"}: "CloneSet", {Namespace: "dev", Name: "foreign"}: "CloneSet",
		{Namespace: "prod", Name: "a"}: "SidecarSet", {Namespace: "dev", Name: "b"}: "SidecarSet",
	} {
		require.NoError(t, informer.GetIndexer().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps.kruise.io/v1alpha1", Kind: kind, Name: "web", UID: types.UID(kind), Controller: new(true),
			}},
		}}))
	}
	names := func(pods []*corev1.Pod, err error) (names []string) {
		require.NoError(t, err)
		for _, pod := range pods {
			names = append(names, pod.Name)
		}
		return names
	}
	assert.Equal(t, []string{"own"}, names(controller.ByOwner[*corev1.Pod](informer.GetIndexer(),
		&metav1.ObjectMeta{Namespace: "prod", Name: "web", UID: "CloneSet"})))
	assert.ElementsMatch(t, []string{"a", "b"}, names(controller.ByClusterOwner[*corev1.Pod](informer.GetIndexer(), "SidecarSet")))
	assert.Empty(t, names(controller.ByClusterOwner[*corev1.Pod](informer.GetIndexer(), "CloneSet")), "this kind has namespaces")
}
