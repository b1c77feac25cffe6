package workloadtarget

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/podtemplate"
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

// template reads the Pod template of a workload of a kind that we know: nil where there is none.
func (p *Plugin) template(ctx context.Context, namespace string, target *apps.TargetReference) (*corev1.PodTemplateSpec, error) {
	var (
		template corev1.PodTemplateSpec
		err      error
	)
	switch schema.FromAPIVersionAndKind(target.APIVersion, target.Kind).GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		template, err = read(ctx, p.Host.AppsV1().Deployments(namespace), target.Name, deploymentTemplate)
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
		template, err = read(ctx, p.Host.AppsV1().ReplicaSets(namespace), target.Name, replicaSetTemplate)
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		template, err = read(ctx, p.Host.AppsV1().StatefulSets(namespace), target.Name, statefulSetTemplate)
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		template, err = read(ctx, p.Host.BatchV1().Jobs(namespace), target.Name, jobTemplate)
	case apps.Kind("CloneSet"):
		template, err = read(ctx, p.Kruise.AppsV1beta1().CloneSets(namespace), target.Name, cloneSetTemplate)
	case apps.Kind("StatefulSet"):
		template, err = read(ctx, p.Kruise.AppsV1beta1().StatefulSets(namespace), target.Name, advancedStatefulSetTemplate)
	default:
		return nil, nil
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %s %s: %w", target.Kind, target.Name, err)
	}
	return &template, nil
}

// getter is the part of a typed client that is needed here.
type getter[T any] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*T, error)
}

func read[T any](
	ctx context.Context, client getter[T], name string, template func(*T) corev1.PodTemplateSpec,
) (corev1.PodTemplateSpec, error) {
	workload, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	return template(workload), nil
}
