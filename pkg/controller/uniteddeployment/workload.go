package uniteddeployment

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	placement "kruise.io/kruise/pkg/workload/subset"
)

// wish is the desired workload of a subset. build makes a workload from it. For an existing workload, a second wish describes
// what it was built from before.
type wish struct {
	// template is the template of the revision, and revision the label of that revision.
	template *v1beta1.SubsetTemplate
	revision string
	subset   *v1beta1.Subset
	// patch is the subset's patch in its exact form, or empty.
	patch               string
	replicas, partition int32
	// maxUnavailable replaces that of the template if it is not zero.
	maxUnavailable int32
}

// build returns the workload of a subset as the user wants it, without a name. Only labels, annotations and spec are set. It returns an
// error if the patch of the subset cannot be applied to the Pod template, and an empty workload if the template is for another kind.
func (a *adapter) build(united *v1beta1.UnitedDeployment, w *wish) (controller.Object, error) {
	// from returns a copy, so the template stays as it is.
	workload := a.from(w.template)
	if workload == nil {
		return a.empty(), nil
	}
	p, selector := a.parts(workload), selectorOf(united.Spec.Selector, w.subset.Name)
	// own is on the workload and on its Pods: the workload is found and compared by these labels, and so are the Pods.
	own := map[string]string{pub.SubsetNameKey: w.subset.Name, pub.KruiseControllerRevisionHashKey: w.revision}
	workload.SetLabels(with(workload.GetLabels(), selector.MatchLabels, own))
	if w.patch != "" {
		workload.SetAnnotations(with(workload.GetAnnotations(), map[string]string{pub.SubsetPatchKey: w.patch}))
	}
	*p.selector, *p.replicas = selector, &w.replicas
	p.template.Labels = with(p.template.Labels, own)
	if p.hold != nil {
		p.hold(w.partition)
	}
	if p.maxUnavailable != nil && w.maxUnavailable > 0 {
		*p.maxUnavailable() = new(intstr.FromInt32(w.maxUnavailable))
	}
	// The patch is last, so that it can change what the subset adds.
	placement.Require(&p.template.Spec, &w.subset.NodeSelectorTerm)
	placement.Tolerate(&p.template.Spec, w.subset.Tolerations)
	if err := placement.Patch(p.template, []byte(w.patch)); err != nil {
		return nil, fmt.Errorf("subset %s: %w", w.subset.Name, err)
	}
	return workload, nil
}

// selectorOf returns the selector of the workload of a subset: that of the UnitedDeployment and the label of the subset. Without the
// label, the workloads of two subsets would select the same Pods. A nil selector gives one with only the label.
func selectorOf(selector *metav1.LabelSelector, subset string) *metav1.LabelSelector {
	selector = made(&selector).DeepCopy()
	selector.MatchLabels = with(selector.MatchLabels, map[string]string{pub.SubsetNameKey: subset})
	return selector
}

// with returns a new map with the entries of all maps. A later one wins.
func with(all ...map[string]string) map[string]string {
	merged := map[string]string{}
	for _, entries := range all {
		maps.Copy(merged, entries)
	}
	return merged
}

// patchOf returns the patch of a subset exactly as it is written into the annotation of its workload, or "". outdated compares the
// texts, so another form of the same patch counts as a change.
func patchOf(subset *v1beta1.Subset) string {
	if subset.Patch == nil {
		return ""
	}
	return string(subset.Patch.Raw)
}

// prefix returns the first part of the name of a subset's workload, for generateName. If the name with the subset is no valid name, for
// example because it is too long, only the name of the UnitedDeployment is used. The label on the workload names the subset anyway.
func (a *adapter) prefix(united, subset string) string {
	prefix := united + "-" + subset + "-"
	if len(apimachineryvalidation.NameIsDNSSubdomain(prefix, true)) > 0 {
		prefix = united + "-"
	}
	if a.longest > 0 && len(prefix) > a.longest {
		prefix = strings.TrimRight(prefix[:a.longest-1], "-.") + "-"
	}
	return prefix
}

// owned returns the fields of a workload that the controller writes, as JSON: labels, annotations and spec. Other metadata and the
// status would otherwise appear in the patch.
func owned(workload controller.Object) ([]byte, error) {
	encoded, err := json.Marshal(workload)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", workload.GetName(), err)
	}
	var fields struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, fmt.Errorf("decode %s: %w", workload.GetName(), err)
	}
	// A nil map would be null, which removes all entries.
	return json.Marshal(map[string]any{"spec": fields.Spec, "metadata": map[string]any{
		"labels": with(workload.GetLabels()), "annotations": with(workload.GetAnnotations()),
	}})
}

// difference returns the patch that makes a stored workload as wanted, or nil if it is so already. before is what the workload was
// built as: fields that it has and wanted does not have are removed. Fields that neither has belong to other writers, and stay. This is
// the three-way merge of kubectl apply, with before instead of the annotation of the last applied form. List entries are merged by the
// keys of the type, so a container that another client added stays.
func (a *adapter) difference(before, wanted, stored controller.Object) ([]byte, error) {
	var encoded [3][]byte
	// All three are reduced to the fields that the controller owns.
	for i, workload := range []controller.Object{before, wanted, stored} {
		var err error
		if encoded[i], err = owned(workload); err != nil {
			return nil, err
		}
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(a.empty())
	if err != nil {
		return nil, fmt.Errorf("read the patch strategy of %s: %w", a.kind, err)
	}
	// The last argument overwrites conflicts: what the template says wins over what another client wrote into the same field.
	patch, err := strategicpatch.CreateThreeWayMergePatch(encoded[0], encoded[1], encoded[2], schema, true)
	if err != nil {
		return nil, fmt.Errorf("compare %s: %w", stored.GetName(), err)
	}
	return onlyFor(patch, stored.GetUID())
}

// onlyFor makes a patch apply only to the object with the UID: the API server answers with a conflict if the name belongs to another
// object now. It returns nil for a patch that changes nothing.
func onlyFor(patch []byte, uid types.UID) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, fmt.Errorf("decode the patch: %w", err)
	}
	if len(fields) == 0 {
		return nil, nil
	}
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		fields["metadata"] = metadata
	}
	metadata["uid"] = uid
	return json.Marshal(fields)
}
