package podprobe

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/workload/selectorindex"
)

// MarkerIndex finds NodePodProbes by a PodProbeMarker with probes in them, and PodIndex by the UID of a Pod in them.
const (
	MarkerIndex = "probeMarkers"
	PodIndex    = "probedPods"
)

// Indexers returns the indexes of NodePodProbes. The values of MarkerIndex are those of MarkerKey, those of PodIndex are UIDs.
func Indexers() cache.Indexers {
	return cache.Indexers{
		MarkerIndex: func(obj any) (keys []string, err error) {
			if object, ok := obj.(*v1alpha1.NodePodProbe); ok {
				for i := range object.Spec.PodProbes {
					entry := &object.Spec.PodProbes[i]
					// Names are unique in a namespace only, so the key has both.
					for _, marker := range Selected(entry) {
						keys = append(keys, MarkerKey(entry.Namespace, marker))
					}
				}
			}
			return keys, nil
		},
		PodIndex: func(obj any) (keys []string, err error) {
			if object, ok := obj.(*v1alpha1.NodePodProbe); ok {
				for i := range object.Spec.PodProbes {
					keys = append(keys, object.Spec.PodProbes[i].UID)
				}
			}
			return keys, nil
		},
	}
}

// MarkerKey returns the index value of a PodProbeMarker.
func MarkerKey(namespace, name string) string { return namespace + "/" + name }

// selectorIndex finds PodProbeMarkers by the labels of a Pod.
const selectorIndex = "podProbeMarkerSelector"

// SelectorIndexers returns the index of PodProbeMarkers that Selecting uses.
func SelectorIndexers() cache.Indexers {
	return cache.Indexers{selectorIndex: func(obj any) ([]string, error) {
		marker, ok := obj.(*v1alpha1.PodProbeMarker)
		if !ok {
			return nil, nil
		}
		return selectorindex.Anchors(marker.Namespace, selectorindex.Parse(marker.Spec.Selector)), nil
	}}
}

// Selecting returns the PodProbeMarkers that select a Pod of a namespace with the labels. The cache must have the index of
// SelectorIndexers. The index finds candidates by one requirement of their selectors, so each candidate is checked.
func Selecting(markers cache.Indexer, namespace string, set map[string]string) (found []*v1alpha1.PodProbeMarker, err error) {
	for _, value := range selectorindex.Values(namespace, set) {
		items, err := markers.ByIndex(selectorIndex, value)
		if err != nil {
			return nil, fmt.Errorf("look up PodProbeMarkers: %w", err)
		}
		for _, item := range items {
			marker, ok := item.(*v1alpha1.PodProbeMarker)
			if ok && selectorindex.Parse(marker.Spec.Selector).Matches(labels.Set(set)) {
				found = append(found, marker)
			}
		}
	}
	return found, nil
}
