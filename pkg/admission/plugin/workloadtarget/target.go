package workloadtarget

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workloadclient"
)

// holder is a kind whose objects each target one workload.
type holder struct {
	// kind is the name of the kind in messages.
	kind string
	// workloads lists the workload kinds that are supported by default.
	workloads []schema.GroupKind
	// allowed is the configuration key of the administrator's list of further kinds.
	allowed string
	// others returns the targets of the objects in a namespace, by object name. It lists live.
	others func(ctx context.Context, client versioned.Interface, namespace string) (map[string]v1beta1.TargetReference, error)
}

// The supported workloads come from the table in package kinds. A PersistentPodState needs Pods that keep their
// names, because it records its Pods by name.
var (
	workloadSpreads = holder{
		kind: "WorkloadSpread", allowed: pub.WorkloadSpreadWorkloadsKey, others: targetsOfSpreads,
		workloads: kinds.Names(func(kind *kinds.Kind) bool { return kind.Spread }),
	}
	persistentPodStates = holder{
		kind: "PersistentPodState", allowed: pub.PersistentPodStateWorkloadsKey, others: targetsOfStates,
		workloads: kinds.Names(func(kind *kinds.Kind) bool { return kind.StableNames }),
	}
)

// targetsOfSpreads implements holder.others. A WorkloadSpread may have no target; it then conflicts with nothing.
func targetsOfSpreads(ctx context.Context, client versioned.Interface, namespace string) (map[string]v1beta1.TargetReference, error) {
	list, err := client.AppsV1beta1().WorkloadSpreads(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list WorkloadSpreads: %w", err)
	}
	targets := make(map[string]v1beta1.TargetReference, len(list.Items))
	for i := range list.Items {
		if target := list.Items[i].Spec.TargetRef; target != nil {
			targets[list.Items[i].Name] = *target
		}
	}
	return targets, nil
}

// targetsOfStates implements holder.others.
func targetsOfStates(ctx context.Context, client versioned.Interface, namespace string) (map[string]v1beta1.TargetReference, error) {
	list, err := client.AppsV1beta1().PersistentPodStates(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list PersistentPodStates: %w", err)
	}
	targets := make(map[string]v1beta1.TargetReference, len(list.Items))
	for i := range list.Items {
		targets[list.Items[i].Name] = list.Items[i].Spec.TargetRef
	}
	return targets, nil
}

// checkTarget checks the target of a new object. The kind is checked first, because it costs no read for a supported
// kind. Versions are not compared: apps/v1 and apps/v1beta1 of one kind name the same workload.
func (p *Plugin) checkTarget(
	ctx context.Context, holder *holder, namespace, name string, target *apps.TargetReference,
) (field.ErrorList, error) {
	if target == nil {
		return nil, nil
	}
	path := field.NewPath("spec", "targetRef")
	kind := schema.FromAPIVersionAndKind(target.APIVersion, target.Kind).GroupKind()
	problem, err := p.checkKind(ctx, holder, kind, path)
	if problem != nil || err != nil {
		return field.ErrorList{problem}, err
	}
	others, err := holder.others(ctx, p.Kruise, namespace)
	if err != nil {
		return nil, err
	}
	// An object with the own name is the one that is created again, for example by a retry.
	for other, theirs := range others {
		if other != name && theirs.Name == target.Name &&
			schema.FromAPIVersionAndKind(theirs.APIVersion, theirs.Kind).GroupKind() == kind {
			return field.ErrorList{field.Invalid(path, target.Kind+" "+target.Name, fmt.Sprintf(
				"targetRef is in conflict with other %s %s, which already has this target; change it, or delete it first",
				holder.kind, other))}, nil
		}
	}
	return nil, nil
}

// checkKind requires a workload kind that is supported or that the administrator allows. It returns the problem for
// the user, or an error if the list could not be read. A list with a syntax error is a problem for the user, who
// learns where the list is.
func (p *Plugin) checkKind(ctx context.Context, holder *holder, kind schema.GroupKind, path *field.Path) (*field.Error, error) {
	if slices.Contains(holder.workloads, kind) {
		return nil, nil
	}
	text, err := workloadclient.AllowedKinds(ctx, p.Host, p.Namespace, holder.allowed)
	if err != nil {
		return nil, err
	}
	var allowed struct {
		Workloads []struct{ Group, Kind string } `json:"workloads"`
	}
	place := fmt.Sprintf("ConfigMap %s/%s, key %s", p.Namespace, pub.ConfigurationName, holder.allowed)
	// A list that cannot be read is reported only for a kind that is not supported by default.
	if text != "" {
		if err := json.Unmarshal([]byte(text), &allowed); err != nil {
			return field.Invalid(path, kind.String(), fmt.Sprintf("the list of allowed kinds cannot be read (%s): %v", place, err)), nil
		}
	}
	// The message lists what is allowed now, so the user need not look it up.
	supported := make([]string, 0, len(holder.workloads)+len(allowed.Workloads))
	for _, workload := range holder.workloads {
		supported = append(supported, workload.String())
	}
	for _, workload := range allowed.Workloads {
		other := schema.GroupKind{Group: workload.Group, Kind: workload.Kind}
		if other == kind {
			return nil, nil
		}
		supported = append(supported, other.String())
	}
	return field.Invalid(path, kind.String(), fmt.Sprintf(
		"TargetReference's GroupKind is not permitted: must be one of %s; an administrator can allow more kinds (%s)",
		strings.Join(supported, ", "), place)), nil
}
