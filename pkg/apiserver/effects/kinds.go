package effects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
	"kruise.io/kruise/pkg/workload/sidecar"
)

// sidecarSets is the resource of SidecarSets.
const sidecarSets = "sidecarsets"

// kind is a kind whose writes change new Pods.
type kind struct {
	informer cache.SharedIndexInformer
	// staleText says what new Pods may still get after a deletion. missingText says what they do not get yet after another write.
	staleText, missingText string
	// concerns returns the namespaces whose Pods the object can change, among those of the cache. It returns none if
	// kube-apiserver asks about the Pods of all namespaces.
	concerns func(object any, namespaces cache.Indexer) []*corev1.Namespace
}

// kindsOf returns the kinds, by their resources. It requests their informers from the factory, so it must be called
// before the factory starts. PodProbeMarkers change new Pods only with their feature gate.
func kindsOf(kruise externalversions.SharedInformerFactory, gate featuregate.FeatureGate) map[string]kind {
	kinds := map[string]kind{
		sidecarSets: {
			informer: kruise.Apps().V1beta1().SidecarSets().Informer(), concerns: selected,
			staleText: "new Pods may still get the containers of the SidecarSet", missingText: "do not get the containers of the SidecarSet",
		},
		"workloadspreads": {
			informer: kruise.Apps().V1beta1().WorkloadSpreads().Informer(), concerns: own,
			staleText: "new Pods may still go to the subsets of the WorkloadSpread", missingText: "do not go to the subsets of the WorkloadSpread",
		},
		"persistentpodstates": {
			informer: kruise.Apps().V1beta1().PersistentPodStates().Informer(), concerns: own,
			staleText:   "new Pods may still return to the nodes of the PersistentPodState",
			missingText: "do not return to the nodes of the PersistentPodState",
		},
	}
	if gate.Enabled(features.EnablePodProbeMarkerOnServerless) {
		kinds["podprobemarkers"] = kind{
			informer: kruise.Apps().V1alpha1().PodProbeMarkers().Informer(), concerns: none,
			staleText: "new Pods may still get the probes of the PodProbeMarker",
		}
	}
	return kinds
}

// none returns no namespaces.
func none(any, cache.Indexer) []*corev1.Namespace { return nil }

// selected returns the namespaces that a SidecarSet selects. It looks at all namespaces, which is acceptable because
// SidecarSets are rarely written.
func selected(object any, namespaces cache.Indexer) (found []*corev1.Namespace) {
	set, ok := object.(*v1beta1.SidecarSet)
	if !ok {
		return nil
	}
	for _, item := range namespaces.List() {
		if namespace, ok := item.(*corev1.Namespace); ok && sidecar.SelectsNamespace(set, namespace.Labels) {
			found = append(found, namespace)
		}
	}
	return found
}

// own returns the namespace of an object. It is empty if the cache does not have the namespace.
func own(object any, namespaces cache.Indexer) []*corev1.Namespace {
	namespaced, ok := object.(metav1.Object)
	if !ok {
		return nil
	}
	item, _, _ := namespaces.GetByKey(namespaced.GetNamespace()) // The indexer cannot fail.
	if namespace, ok := item.(*corev1.Namespace); ok {
		return []*corev1.Namespace{namespace}
	}
	return nil
}
