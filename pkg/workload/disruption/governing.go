package disruption

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/selectorindex"
)

// Workload names the controller of a Pod, or the controller of that controller.
type Workload struct {
	schema.GroupKind
	Name string
}

// WorkloadOf returns the workload that a reference names. The version does not matter. An API version that cannot be parsed
// gives an empty group.
func WorkloadOf(apiVersion, kind, name string) Workload {
	return Workload{GroupKind: schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind(), Name: name}
}

// ControllerOf returns the controller of an object and the reference to it. The reference is nil if the object has no
// controller.
func ControllerOf(object metav1.Object) (Workload, *metav1.OwnerReference) {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil {
		return Workload{}, nil
	}
	return WorkloadOf(ref.APIVersion, ref.Kind, ref.Name), ref
}

// TargetOf returns the workload that the budget's targetRef names, and false if there is no targetRef.
func TargetOf(budget *v1beta1.PodUnavailableBudget) (Workload, bool) {
	if ref := budget.Spec.TargetRef; ref != nil {
		return WorkloadOf(ref.APIVersion, ref.Kind, ref.Name), true
	}
	return Workload{}, false
}

// Budgets is an index of budgets. It must have the indexes of Indexers.
type Budgets interface {
	ByIndex(name, value string) ([]any, error)
}

// targetIndex finds budgets by their target, and anchorIndex by a requirement of their selector.
const (
	targetIndex = "budgetTarget"
	anchorIndex = "budgetAnchor"
)

// Indexers returns the indexes that Governing and Matching look up. A selector is indexed by one of its requirements: a Pod must
// meet that requirement to be selected.
func Indexers() cache.Indexers {
	return cache.Indexers{
		targetIndex: func(obj any) ([]string, error) {
			if budget, ok := obj.(*v1beta1.PodUnavailableBudget); ok {
				if target, found := TargetOf(budget); found {
					return []string{targetKey(budget.Namespace, target)}, nil
				}
			}
			return nil, nil
		},
		anchorIndex: func(obj any) ([]string, error) {
			if budget, ok := obj.(*v1beta1.PodUnavailableBudget); ok {
				return selectorindex.Anchors(budget.Namespace, selectorindex.Parse(budget.Spec.Selector)), nil
			}
			return nil, nil
		},
	}
}

// Index adds the indexers to a shared informer, except those that it already has. It must not be called concurrently.
func Index(informer cache.SharedIndexInformer) error {
	missing := Indexers()
	for name := range informer.GetIndexer().GetIndexers() {
		delete(missing, name)
	}
	return informer.AddIndexers(missing)
}

// targetKey returns the value of a workload in targetIndex.
func targetKey(namespace string, w Workload) string {
	return strings.Join([]string{namespace, w.Group, w.Kind, w.Name}, "/")
}

// Governing returns the one budget that governs a Pod with the given labels and workloads, or nil. Budgets that target one of
// the workloads take precedence over budgets that select the labels. Among several, the first by name governs, so that all
// programs choose the same one.
func Governing(
	budgets Budgets, namespace string, podLabels map[string]string, workloads []Workload,
) (*v1beta1.PodUnavailableBudget, error) {
	targeting, err := targeting(budgets, namespace, workloads)
	if err != nil || len(targeting) > 0 {
		return firstByName(targeting), err
	}
	selecting, err := selecting(budgets, namespace, podLabels)
	return firstByName(selecting), err
}

// Matching returns every budget that targets one of the workloads or selects the labels.
func Matching(
	budgets Budgets, namespace string, podLabels map[string]string, workloads []Workload,
) ([]*v1beta1.PodUnavailableBudget, error) {
	targeting, err := targeting(budgets, namespace, workloads)
	if err != nil {
		return nil, err
	}
	selecting, err := selecting(budgets, namespace, podLabels)
	return append(targeting, selecting...), err
}

// targeting returns the budgets that target one of the workloads.
func targeting(budgets Budgets, namespace string, workloads []Workload) (matching []*v1beta1.PodUnavailableBudget, err error) {
	for _, workload := range workloads {
		found, err := lookUp(budgets, targetIndex, targetKey(namespace, workload))
		if err != nil {
			return nil, err
		}
		matching = append(matching, found...)
	}
	return matching, nil
}

// selecting returns the budgets whose selector matches. The index finds candidates, so each of them is checked.
func selecting(budgets Budgets, namespace string, podLabels map[string]string) (matching []*v1beta1.PodUnavailableBudget, err error) {
	for _, value := range selectorindex.Values(namespace, podLabels) {
		found, err := lookUp(budgets, anchorIndex, value)
		if err != nil {
			return nil, err
		}
		for _, budget := range found {
			if selectorindex.Parse(budget.Spec.Selector).Matches(labels.Set(podLabels)) {
				matching = append(matching, budget)
			}
		}
	}
	return matching, nil
}

// firstByName returns the budget with the first name, or nil if there is none.
func firstByName(budgets []*v1beta1.PodUnavailableBudget) (first *v1beta1.PodUnavailableBudget) {
	for _, budget := range budgets {
		if first == nil || budget.Name < first.Name {
			first = budget
		}
	}
	return first
}

// lookUp returns the budgets with a value in an index.
func lookUp(budgets Budgets, index, value string) ([]*v1beta1.PodUnavailableBudget, error) {
	items, err := budgets.ByIndex(index, value)
	if err != nil {
		return nil, err
	}
	found := make([]*v1beta1.PodUnavailableBudget, 0, len(items))
	for _, item := range items {
		if budget, ok := item.(*v1beta1.PodUnavailableBudget); ok {
			found = append(found, budget)
		}
	}
	return found, nil
}

// Hinted returns the name of the budget in the Pod's annotations, or "". It is only a hint: users can change it, and it can be
// out of date.
func Hinted(annotations map[string]string) string {
	if name := annotations[pub.RelatedPubKeyNew]; name != "" {
		return name
	}
	return annotations[pub.RelatedPubKey]
}

// FoundByScale reports whether the Pods of the budget's target must be found through the target's scale subresource. This is so
// for kinds that this server does not know or that do not own Pods themselves.
func FoundByScale(budget *v1beta1.PodUnavailableBudget) bool {
	target, found := TargetOf(budget)
	if !found {
		return false
	}
	kind := kinds.Of(target.GroupKind)
	return kind == nil || !kind.HasPods()
}

// MayControl reports whether an object of one kind can be the controller of an object of another kind. Objects of a kind that is not in
// the table can control anything.
func MayControl(above, below schema.GroupKind) bool {
	kind := kinds.Of(above)
	return kind == nil || !kind.HasPods() || kind.Through != nil && *kind.Through == below
}
