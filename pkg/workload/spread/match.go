package spread

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/kinds"
)

// TargetIndex finds WorkloadSpreads by the workload that they name.
const TargetIndex = "workloadSpreadTarget"

// Indexers returns the index for Of.
func Indexers() cache.Indexers {
	return cache.Indexers{TargetIndex: func(obj any) ([]string, error) {
		spread, ok := obj.(*v1beta1.WorkloadSpread)
		if !ok || spread.Spec.TargetRef == nil {
			return nil, nil
		}
		return []string{key(spread.Namespace, KindOf(spread), spread.Spec.TargetRef.Name)}, nil
	}}
}

// key does not depend on the version of the kind, because the API version of the target may change (case 6 of
// docs/contract/workloadspread.md).
func key(namespace string, kind schema.GroupKind, name string) string {
	return strings.Join([]string{namespace, kind.Group, kind.Kind, name}, "/")
}

// KindOf returns the kind of the target, or an empty one if there is no target.
func KindOf(spread *v1beta1.WorkloadSpread) schema.GroupKind {
	if spread.Spec.TargetRef == nil {
		return schema.GroupKind{}
	}
	return schema.FromAPIVersionAndKind(spread.Spec.TargetRef.APIVersion, spread.Spec.TargetRef.Kind).GroupKind()
}

// Of returns the WorkloadSpreads of a workload, sorted by name. Admission allows one. Of several, callers use the first.
func Of(spreads cache.Indexer, namespace string, kind schema.GroupKind, name string) (found []*v1beta1.WorkloadSpread, err error) {
	items, err := spreads.ByIndex(TargetIndex, key(namespace, kind, name))
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if spread, ok := item.(*v1beta1.WorkloadSpread); ok {
			found = append(found, spread)
		}
	}
	slices.SortFunc(found, func(a, b *v1beta1.WorkloadSpread) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// Selects reports whether the filter of the WorkloadSpread selects Pods with the labels. Without a selector, it selects all Pods. An
// invalid one selects none.
func Selects(spread *v1beta1.WorkloadSpread, set map[string]string) bool {
	filter := spread.Spec.TargetFilter
	if filter == nil || filter.Selector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(filter.Selector)
	return err == nil && selector.Matches(labels.Set(set))
}

// Numbered reports whether the Pods of the target are numbered. Their subset follows from their number, and no slots are recorded.
func Numbered(spread *v1beta1.WorkloadSpread) bool {
	kind := kinds.Of(KindOf(spread))
	return kind != nil && kind.StableNames
}

// HasIntermediateOwner reports whether the Pods of the target can belong to another object that belongs to the target. The kind of that
// object is the given one. A kind without an entry in the table of kinds may have any objects between.
func HasIntermediateOwner(spread *v1beta1.WorkloadSpread, between schema.GroupKind) bool {
	kind := kinds.Of(KindOf(spread))
	return kind == nil || kind.Through != nil && *kind.Through == between
}
