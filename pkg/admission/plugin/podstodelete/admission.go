package podstodelete

import (
	"context"
	"fmt"
	"io"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/util/workqueue"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/apps"
)

// PluginName is the plugin's name in flags.
const PluginName = "CloneSetPodsToDelete"

// workers is how many Pods one request reads in parallel.
const workers = 16

// Register adds the plugin to the list.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// New returns the plugin. It reads Pods live, because a cache may be stale.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// Plugin is the admission plugin.
type Plugin struct {
	*admission.Handler
	initializer.HostClient
}

var (
	_ admission.ValidationInterface     = &Plugin{}
	_ admission.InitializationValidator = &Plugin{}
)

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	return initializer.Initialized(PluginName, &p.HostClient)
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	cloneSet, ok := attributes.GetObject().(*apps.CloneSet)
	if !ok || attributes.GetSubresource() != "" {
		return nil
	}
	var known []string
	if old, ok := attributes.GetOldObject().(*apps.CloneSet); ok {
		known = old.Spec.ScaleStrategy.PodsToDelete
	}
	problems := p.check(ctx, cloneSet, known)
	var errs field.ErrorList
	for _, problem := range problems {
		if problem != nil {
			errs = append(errs, problem)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(apps.Kind("CloneSet"), cloneSet.Name, errs)
}

// check returns the problem of each name in the list. The entry is nil if the name is valid.
func (p *Plugin) check(ctx context.Context, cloneSet *apps.CloneSet, known []string) []*field.Error {
	names := cloneSet.Spec.ScaleStrategy.PodsToDelete
	problems := make([]*field.Error, len(names))
	workqueue.ParallelizeUntil(ctx, workers, len(names), func(i int) {
		if !slices.Contains(known, names[i]) {
			problems[i] = p.checkPod(ctx, cloneSet, names[i], field.NewPath("spec", "scaleStrategy", "podsToDelete").Index(i))
		}
	})
	return problems
}

// checkPod returns nil if the Pod exists, is not terminating and belongs to the CloneSet.
func (p *Plugin) checkPod(ctx context.Context, cloneSet *apps.CloneSet, name string, at *field.Path) *field.Error {
	if len(name) == 0 || len(content.IsPathSegmentName(name)) > 0 {
		return field.Invalid(at, name, "is not a valid Pod name")
	}
	pod, err := p.Host.CoreV1().Pods(cloneSet.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return field.Invalid(at, name, "no such Pod in namespace "+cloneSet.Namespace)
	case err != nil:
		return field.InternalError(at, fmt.Errorf("get Pod %s: %w", name, err))
	case !metav1.IsControlledBy(pod, cloneSet):
		return field.Invalid(at, name, "the Pod does not belong to this CloneSet")
	case pod.DeletionTimestamp != nil:
		return field.Invalid(at, name, "the Pod is being deleted already")
	}
	return nil
}
