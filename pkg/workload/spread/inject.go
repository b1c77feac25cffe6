package spread

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/subset"
)

// Inject returns a copy of the Pod with what the subset adds: tolerations, node selection, the patch and the annotation. A
// second call changes nothing. It returns an error if the patch cannot be applied, or if ctx has ended.
func Inject(ctx context.Context, pod *corev1.Pod, to *v1beta1.WorkloadSpreadSubset, matched Matched) (*corev1.Pod, error) {
	pod = pod.DeepCopy()
	subset.Tolerate(&pod.Spec, to.Tolerations)
	subset.Prefer(&pod.Spec, to.PreferredNodeSelector)
	subset.Require(&pod.Spec, to.RequiredNodeSelector)
	class := pod.Spec.PriorityClassName
	if err := patch(ctx, pod, to); err != nil {
		return nil, err
	}
	if pod.Spec.PriorityClassName != class {
		// The server computes these from the class.
		pod.Spec.Priority, pod.Spec.PreemptionPolicy = nil, nil
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[pub.MatchedWorkloadSpreadKey] = matched.String()
	return pod, nil
}

// patch applies the patch of a subset to a Pod in place. The error names the subset.
func patch(ctx context.Context, pod *corev1.Pod, of *v1beta1.WorkloadSpreadSubset) error {
	if of.Patch == nil {
		return nil
	}
	// A patch can take long, so it does not begin when nobody waits for it any more.
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("subset %s: %w", of.Name, err)
	}
	if err := subset.Patch(pod, of.Patch.Raw); err != nil {
		return fmt.Errorf("subset %s: %w", of.Name, err)
	}
	return nil
}

// KeepSelected returns the labels that a Pod gets from a patch, without the changes that take it out of the selector of its controller. The
// controller would release the Pod and create another one, without end. It returns false if there are such changes.
func KeepSelected(selector labels.Selector, before, after map[string]string) (kept map[string]string, all bool) {
	if !selector.Matches(labels.Set(before)) || selector.Matches(labels.Set(after)) {
		return after, true
	}
	kept = maps.Clone(after)
	if kept == nil {
		kept = map[string]string{}
	}
	maps.Copy(kept, before)
	// A label that the patch adds can exclude the Pod too.
	if !selector.Matches(labels.Set(kept)) {
		kept = maps.Clone(before)
	}
	return kept, false
}

// Metadata returns the labels and annotations that the patch of the subset sets. Entries that it removes are left out. A patch
// that cannot be read sets none.
func Metadata(subset *v1beta1.WorkloadSpreadSubset) (ofLabels, ofAnnotations map[string]string) {
	var patch struct {
		Metadata struct {
			Labels      map[string]*string `json:"labels"`
			Annotations map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	if subset.Patch == nil || json.Unmarshal(subset.Patch.Raw, &patch) != nil {
		return nil, nil
	}
	return texts(patch.Metadata.Labels), texts(patch.Metadata.Annotations)
}

func texts(values map[string]*string) map[string]string {
	found := map[string]string{}
	for key, value := range values {
		if value != nil {
			found[key] = *value
		}
	}
	return found
}
