package resourcedistribution

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// systemNamespaces get a copy only if includedNamespaces names them.
var systemNamespaces = sets.New(metav1.NamespaceSystem, metav1.NamespacePublic)

// targets decides which namespaces get a copy. It is the parsed form of spec.targets.
type targets struct {
	// all is allNamespaces. included and excluded are names, and need not exist.
	all                bool
	included, excluded sets.Set[string]
	selector           labels.Selector
}

// newTargets parses the targets of a spec. It returns an error if the selector is not valid.
func newTargets(spec *v1beta1.ResourceDistributionTargets) (*targets, error) {
	t := &targets{
		all: spec.AllNamespaces, included: names(spec.IncludedNamespaces), excluded: names(spec.ExcludedNamespaces),
		selector: labels.Nothing(),
	}
	if len(spec.NamespaceSelector.MatchLabels)+len(spec.NamespaceSelector.MatchExpressions) == 0 {
		return t, nil // An empty selector selects no namespace.
	}
	var err error
	if t.selector, err = metav1.LabelSelectorAsSelector(&spec.NamespaceSelector); err != nil {
		return nil, fmt.Errorf("parse the namespace selector: %w", err)
	}
	return t, nil
}

func names(namespaces v1beta1.ResourceDistributionTargetNamespaces) sets.Set[string] {
	all := sets.New[string]()
	for _, namespace := range namespaces.List {
		all.Insert(namespace.Name)
	}
	return all
}

// need is what a namespace needs of a ResourceDistribution.
type need int

const (
	// noCopy is for namespaces that get no copy.
	noCopy need = iota
	// needsCopy is for namespaces that get a copy.
	needsCopy
	// keepsCopy is for system namespaces that allNamespaces or the selector reach. They get no copy, but one that OpenKruise made stays, and
	// is kept right: their Pods may use it.
	keepsCopy
	// namespaceMissing is for namespaces that would get a copy, but do not exist or are terminating.
	namespaceMissing
)

// of returns what the namespace of a name needs. namespace is nil if it does not exist. An exclusion comes first, then an
// inclusion by name, then allNamespaces and the selector, which do not reach system namespaces (cases 1, 3 and 19 of
// docs/contract/resourcedistribution.md).
func (t *targets) of(name string, namespace *corev1.Namespace) need {
	switch {
	case t.excluded.Has(name):
		return noCopy
	case namespace == nil:
		// With allNamespaces, only namespaces that exist are wanted.
		if !t.all && t.included.Has(name) {
			return namespaceMissing
		}
		return noCopy
	case !t.included.Has(name) && !t.all && !t.selector.Matches(labels.Set(namespace.Labels)):
		return noCopy
	case !t.included.Has(name) && systemNamespaces.Has(name):
		return keepsCopy
	case terminating(namespace):
		return namespaceMissing
	}
	return needsCopy
}

// split sorts all names of targets by what they need. namespaces are those that exist. copied are the names of those that get a
// copy, kept those that keep one, and missing those that would get one, but do not exist or are terminating.
func (t *targets) split(namespaces []*corev1.Namespace) (copied, kept, missing sets.Set[string]) {
	copied, kept, missing = sets.New[string](), sets.New[string](), sets.New[string]()
	existing := sets.New[string]()
	for _, namespace := range namespaces {
		existing.Insert(namespace.Name)
		switch t.of(namespace.Name, namespace) {
		case needsCopy:
			copied.Insert(namespace.Name)
		case keepsCopy:
			kept.Insert(namespace.Name)
		case namespaceMissing:
			missing.Insert(namespace.Name)
		case noCopy:
		}
	}
	// The user can name namespaces that do not exist.
	for name := range t.included.Difference(existing) {
		if t.of(name, nil) == namespaceMissing {
			missing.Insert(name)
		}
	}
	return copied, kept, missing
}

// terminating reports whether a namespace is being deleted: nothing can be created in it.
func terminating(namespace *corev1.Namespace) bool {
	return namespace.DeletionTimestamp != nil || namespace.Status.Phase == corev1.NamespaceTerminating
}
