package controller

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kruise.io/kruise/pkg/workload/selectorindex"
)

// orphanRevisionIndex finds revisions without a controller by their labels.
const orphanRevisionIndex = "orphanRevisions"

// OrphanRevisions returns a function that lists the revisions of a namespace that match a selector and have no controller, for
// engine.Caches. A workload that was deleted without its dependents, and created again, adopts them and continues their history.
// Revisions that are being deleted are left out: adopting them would not keep them.
func (c *Of[T]) OrphanRevisions(revisions Informer) func(string, labels.Selector) ([]*appsv1.ControllerRevision, error) {
	orphans := c.Index(revisions, orphanRevisionIndex, func(obj any) ([]string, error) {
		if revision, ok := obj.(*appsv1.ControllerRevision); ok && metav1.GetControllerOfNoCopy(revision) == nil {
			return selectorindex.Index(revision.Namespace, revision.Labels), nil
		}
		return nil, nil
	})
	return func(namespace string, selector labels.Selector) (found []*appsv1.ControllerRevision, err error) {
		for _, anchor := range selectorindex.Lookups(namespace, selector) {
			items, err := orphans.ByIndex(orphanRevisionIndex, anchor)
			if err != nil {
				return nil, fmt.Errorf("list revisions without a controller: %w", err)
			}
			for _, item := range items {
				revision, ok := item.(*appsv1.ControllerRevision)
				if ok && revision.DeletionTimestamp == nil && selector.Matches(labels.Set(revision.Labels)) {
					found = append(found, revision)
				}
			}
		}
		return found, nil
	}
}
