package workloadtarget

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/podtemplate"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workloadclient"
)

// checkPatches tries each patch that is new on the workload's template. A workload that is not there
// yet has none to try it on.
func (p *Plugin) checkPatches(ctx context.Context, spread, old *apps.WorkloadSpread) (field.ErrorList, error) {
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
		read     bool
	)
	for i := range spread.Spec.Subsets {
		patch := spread.Spec.Subsets[i].Patch
		if patch == nil || known[string(patch.Raw)] || spread.Spec.TargetRef == nil {
			continue
		}
		if !read {
			var err error
			if template, err = p.template(ctx, spread.Namespace, spread.Spec.TargetRef); err != nil {
				return nil, err
			}
			read = true
		}
		if template != nil {
			errs = append(errs, tryPatch(template, patch.Raw, field.NewPath("spec", "subsets").Index(i).Child("patch"))...)
		}
	}
	return errs, nil
}

// tryPatch judges the patched template by core's rules. A template that breaks them by itself tells
// nothing about the patch.
func tryPatch(template *corev1.PodTemplateSpec, patch []byte, path *field.Path) field.ErrorList {
	if len(podtemplate.Validate(template, nil, path)) > 0 {
		return nil
	}
	before, err := json.Marshal(template)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, template)
	patched := &corev1.PodTemplateSpec{}
	if err == nil {
		err = json.Unmarshal(after, patched)
	}
	if err != nil {
		return field.ErrorList{field.Invalid(path, string(patch), "cannot be merged into the template of the workload: "+err.Error())}
	}
	return podtemplate.Validate(patched, nil, path)
}

// template reads the Pod template of a workload of a kind that has one: nil where there is none.
func (p *Plugin) template(ctx context.Context, namespace string, target *apps.TargetReference) (*corev1.PodTemplateSpec, error) {
	kind := kinds.Of(schema.FromAPIVersionAndKind(target.APIVersion, target.Kind).GroupKind())
	if kind == nil || !kind.Spread {
		return nil, nil
	}
	workload, err := workloadclient.Clients{Kube: p.Host, Kruise: p.Kruise}.Get(ctx, kind.GroupKind, namespace, target.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %s %s: %w", target.Kind, target.Name, err)
	}
	template := kind.Template(workload).DeepCopy()
	if kind.Claims != nil {
		template.Spec.Volumes = withClaims(template.Spec.Volumes, kind.Claims(workload))
	}
	return template, nil
}

// withClaims has each claim as a volume, in place of one of its name: what containers mount.
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
