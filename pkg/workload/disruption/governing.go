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

// Workload names what controls a Pod, or what controls that.
type Workload struct {
	schema.GroupKind
	Name string
}

// WorkloadOf returns the workload that a reference names.
func WorkloadOf(apiVersion, kind, name string) Workload {
	return Workload{GroupKind: schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind(), Name: name}
}

// ControllerOf returns what controls an object, and the reference to it, or nil.
func ControllerOf(object metav1.Object) (Workload, *metav1.OwnerReference) {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil {
		return Workload{}, nil
	}
	return WorkloadOf(ref.APIVersion, ref.Kind, ref.Name), ref
}

// TargetOf returns the workload that a budget names.
func TargetOf(budget *v1beta1.PodUnavailableBudget) (Workload, bool) {
	if ref := budget.Spec.TargetRef; ref != nil {
		return WorkloadOf(ref.APIVersion, ref.Kind, ref.Name), true
	}
	return Workload{}, false
}

// Budgets is an index of budgets, made with Indexers.
type Budgets interface {
	ByIndex(name, value string) ([]any, error)
}

const (
	targetIndex = "budgetTarget"
	anchorIndex = "budgetAnchor"
)

// Indexers are the indexes by which budgets are found. A selector is indexed by one of its requirements, which a Pod must meet
// to be selected.
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

// Index adds the indexers to an informer that several parties share, unless one of them did before. It is no function to call
// from two goroutines at once.
func Index(informer cache.SharedIndexInformer) error {
	missing := Indexers()
	for name := range informer.GetIndexer().GetIndexers() {
		delete(missing, name)
	}
	return informer.AddIndexers(missing)
}

func targetKey(namespace string, w Workload) string {
	return strings.Join([]string{namespace, w.Group, w.Kind, w.Name}, "/")
}

// Governing returns the one budget that governs a Pod with the labels and workloads given, or nil: the first by name of those
// whose target is one of the workloads, else the first by name of those that select it.
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

// Matching returns every budget whose target is one of the workloads, or that selects the labels.
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

func firstByName(budgets []*v1beta1.PodUnavailableBudget) (first *v1beta1.PodUnavailableBudget) {
	for _, budget := range budgets {
		if first == nil || budget.Name < first.Name {
			first = budget
		}
	}
	return first
}

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

// Hinted returns the budget that a Pod's annotations name, or nothing.
func Hinted(annotations map[string]string) string {
	if name := annotations[pub.RelatedPubKeyNew]; name != "" {
		return name
	}
	return annotations[pub.RelatedPubKey]
}

// FoundByScale tells whether the Pods of a budget's target may be ones that it does not own: of a kind that nobody knows here,
// its scale subresource says which they are.
func FoundByScale(budget *v1beta1.PodUnavailableBudget) bool {
	target, found := TargetOf(budget)
	if !found {
		return false
	}
	kind := kinds.Of(target.GroupKind)
	return kind == nil || !kind.HasPods()
}
