package workloadtarget

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/rules"
	"kruise.io/kruise/pkg/podtemplate"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/selectorindex"
	"kruise.io/kruise/pkg/workloadclient"
)

// checkPatches tries each new patch on the Pod template of the workload. It skips a workload that does not exist yet,
// because users may create the WorkloadSpread first. A patch that the stored object has, in any subset, is not tried
// again: the workload may have changed since then. The template is read at most once.
func (p *Plugin) checkPatches(ctx context.Context, spread, old *apps.WorkloadSpread) (field.ErrorList, error) {
	// Patches are compared by their text. A patch that moved to another subset counts as known.
	known := map[string]bool{}
	if old != nil {
		for i := range old.Spec.Subsets {
			if patch := old.Spec.Subsets[i].Patch; patch != nil {
				known[string(patch.Raw)] = true
			}
		}
	}
	var (
		errs     field.ErrorList
		template *corev1.PodTemplateSpec
		selector labels.Selector
		before   []byte
	)
	for i := range spread.Spec.Subsets {
		patch := spread.Spec.Subsets[i].Patch
		if patch == nil || known[string(patch.Raw)] || spread.Spec.TargetRef == nil {
			continue
		}
		// Other writes wait for the end of this one, so it ends with its request.
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if template == nil {
			var err error
			if template, selector, err = p.template(ctx, spread.Namespace, spread.Spec.TargetRef); err != nil {
				return nil, err
			}
			// Nothing is reported if the template is already invalid without a patch, because the user of the WorkloadSpread cannot
			// correct that here.
			if template == nil || len(podtemplate.Validate(template, nil, nil)) > 0 {
				return nil, nil
			}
			if before, err = json.Marshal(template); err != nil {
				return nil, fmt.Errorf("encode the template of the workload: %w", err)
			}
		}
		errs = append(errs, tryPatch(before, template, selector, patch.Raw, field.NewPath("spec", "subsets").Index(i).Child("patch"))...)
	}
	return errs, nil
}

// tryPatch validates the patched template with the rules of Kubernetes. before is the template as JSON. Pods get their patches
// by the same strategic merge. The labels must still match the selector of the workload: it would release each new Pod that does
// not match, and create another, without end.
func tryPatch(before []byte, template *corev1.PodTemplateSpec, selector labels.Selector, patch []byte, path *field.Path) field.ErrorList {
	after, err := rules.StrategicMerge(before, patch, template)
	patched := &corev1.PodTemplateSpec{}
	if err == nil {
		err = json.Unmarshal(after, patched)
	}
	if err != nil {
		return field.ErrorList{field.Invalid(path, string(patch), "cannot be merged into the template of the workload: "+err.Error())}
	}
	errs := podtemplate.Validate(patched, nil, path)
	if selector.Matches(labels.Set(template.Labels)) && !selector.Matches(labels.Set(patched.Labels)) {
		errs = append(errs, field.Invalid(path.Child("metadata", "labels"), labels.Set(patched.Labels).String(), fmt.Sprintf(
			"the labels of new Pods would no longer match the selector %q of the workload; leave these labels out of the patch", selector)))
	}
	return errs
}

// template returns the Pod template and the selector of a workload. The template is nil if the kind has none or the workload
// does not exist.
func (p *Plugin) template(ctx context.Context, namespace string, target *apps.TargetReference) (
	*corev1.PodTemplateSpec, labels.Selector, error) {
	kind := kinds.Of(schema.FromAPIVersionAndKind(target.APIVersion, target.Kind).GroupKind())
	if kind == nil || !kind.Spread {
		return nil, nil, nil
	}
	workload, err := workloadclient.Clients{Kube: p.Host, Kruise: p.Kruise}.Get(ctx, kind.GroupKind, namespace, target.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("get %s %s: %w", target.Kind, target.Name, err)
	}
	template := kind.Template(workload).DeepCopy()
	// A StatefulSet adds a volume for each claim template to its Pods. Without these volumes, their mounts would look
	// invalid.
	if kind.Claims != nil {
		template.Spec.Volumes = withClaims(template.Spec.Volumes, kind.Claims(workload))
	}
	return template, selectorindex.Parse(kind.Selector(workload)), nil
}

// withClaims adds each claim template as a volume and replaces a volume of the same name. Containers can mount both.
func withClaims(inTemplate []corev1.Volume, claims []corev1.PersistentVolumeClaim) (volumes []corev1.Volume) {
	taken := map[string]bool{}
	for i := range claims {
		taken[claims[i].Name] = true
		volumes = append(volumes, corev1.Volume{Name: claims[i].Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claims[i].Name},
		}})
	}
	for _, volume := range inTemplate {
		if !taken[volume.Name] {
			volumes = append(volumes, volume)
		}
	}
	return volumes
}
