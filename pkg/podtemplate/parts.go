package podtemplate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
)

// Parts are what Pods are made of, for kinds that hold containers and volumes without a template around them. The slices belong
// to the object of the caller.
type Parts struct {
	InitContainers      []corev1.Container
	Containers          []corev1.Container
	EphemeralContainers []corev1.EphemeralContainer
	Volumes             []corev1.Volume
}

// DefaultParts fills parts in place, as Default does a template. Images are pulled as in core: those with a tag or a digest
// when they are not there. more sets defaults of the kind that core does not have, and is nil if there are none. Parts that equal
// the stored ones are left alone. The defaults reach the caller's object because the slices are shared.
func DefaultParts(parts, old *Parts, more func(*Parts)) {
	if old != nil && apiequality.Semantic.DeepEqual(parts, old) {
		return
	}
	parts.setDefaults(more)
	if old != nil {
		parts.keepStored(old, more)
	}
}

func (p *Parts) setDefaults(more func(*Parts)) {
	corev1defaults.SetObjectDefaults_PodTemplate(&corev1.PodTemplate{Template: corev1.PodTemplateSpec{Spec: p.spec()}})
	if more != nil {
		more(p)
	}
}

// keepStored stores the old parts with the new images, when nothing else differs once both have today's defaults. So a default
// that a newer release adds never turns an upgrade of images into a change that running Pods cannot take.
func (p *Parts) keepStored(old *Parts, more func(*Parts)) {
	if len(p.Containers) != len(old.Containers) || len(p.InitContainers) != len(old.InitContainers) {
		return
	}
	withImages := func(parts *Parts) *Parts {
		setImages(parts.Containers, p.Containers)
		setImages(parts.InitContainers, p.InitContainers)
		return parts
	}
	before := old.deepCopy()
	before.setDefaults(more)
	if !apiequality.Semantic.DeepEqual(withImages(before), p) {
		return
	}
	kept := withImages(old.deepCopy())
	copy(p.InitContainers, kept.InitContainers)
	copy(p.Containers, kept.Containers)
	copy(p.EphemeralContainers, kept.EphemeralContainers)
	copy(p.Volumes, kept.Volumes)
}

func setImages(containers, from []corev1.Container) {
	for i := range containers {
		containers[i].Image = from[i].Image
	}
}

func (p *Parts) deepCopy() *Parts {
	spec := p.spec()
	spec = *spec.DeepCopy()
	return &Parts{
		InitContainers: spec.InitContainers, Containers: spec.Containers,
		EphemeralContainers: spec.EphemeralContainers, Volumes: spec.Volumes,
	}
}

// ValidateParts runs core's rules for a Pod that is made of parts and nothing else. A container stands in where there are only
// init containers or ephemeral ones, because core refuses a Pod without containers. old are the stored parts, nil on create:
// values that only newer rules refuse may stay. The arguments are not changed.
func ValidateParts(parts, old *Parts, path *field.Path) field.ErrorList {
	current, err := parts.asCore()
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	stored, err := old.asCore()
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	// The options allow what the stored parts have already.
	options := pod.GetValidationOptionsFromPodTemplate(current, stored)
	errs := bound(&current.Spec, path)
	return append(errs, corevalidation.ValidatePodSpec(&current.Spec, nil, path, options)...)
}

// ValidateProbe runs core's rules for the probe of a container. What it leaves unset is judged as
// if it had been defaulted. The probe is not changed.
func ValidateProbe(probe *corev1.Probe, path *field.Path) field.ErrorList {
	// Core's rules for probes can only be reached through a container, so the paths of the errors are replaced.
	const holder = "containers[0].readinessProbe"
	parts := &Parts{Containers: []corev1.Container{{Name: "probed", Image: "probed", ReadinessProbe: probe}}}
	errs := ValidateParts(parts, nil, nil)
	for _, err := range errs {
		err.Field = path.String() + strings.TrimPrefix(err.Field, holder)
	}
	return errs
}

// spec returns a Pod spec that shares the slices of the parts.
func (p *Parts) spec() corev1.PodSpec {
	return corev1.PodSpec{
		InitContainers: p.InitContainers, Containers: p.Containers,
		EphemeralContainers: p.EphemeralContainers, Volumes: p.Volumes,
	}
}

// asCore returns a defaulted Pod of copies of the parts, in core's internal form. It returns nil for nil parts.
func (p *Parts) asCore() (*core.PodTemplateSpec, error) {
	if p == nil {
		return nil, nil
	}
	spec := p.spec()
	template := &corev1.PodTemplateSpec{Spec: *spec.DeepCopy()}
	// Tokens may be mounted only where there is a service account. Every Pod has one in the end.
	template.Spec.ServiceAccountName = "default"
	corev1defaults.SetObjectDefaults_PodTemplate(&corev1.PodTemplate{Template: *template})
	if len(p.Containers) == 0 {
		template.Spec.Containers = []corev1.Container{{Name: p.freeName(), Image: "stand-in"}}
	}
	converted, err := asCore(template)
	if err != nil {
		return nil, fmt.Errorf("build a pod from containers and volumes: %w", err)
	}
	return converted, nil
}

// freeName returns a name for the stand-in that no other container has.
func (p *Parts) freeName() string {
	taken := func(name string) bool {
		return slices.ContainsFunc(p.InitContainers, func(c corev1.Container) bool { return c.Name == name }) ||
			slices.ContainsFunc(p.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == name })
	}
	name := "stand-in"
	for taken(name) {
		name += "-x"
	}
	return name
}
