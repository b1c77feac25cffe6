package sidecarset

import (
	"context"
	"fmt"
	"io"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apis/rules"
)

// PluginName is the plugin's name in flags.
const PluginName = "SidecarSet"

// Register adds the plugin to the list.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// New returns the plugin.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// Plugin is the admission plugin. It reads namespaces, revisions and the administrator's list from the host cluster,
// and SidecarSets from this server.
type Plugin struct {
	*admission.Handler
	initializer.HostClient
	initializer.KruiseClient
	initializer.Features
	initializer.OwnNamespace
}

var (
	_ admission.ValidationInterface     = &Plugin{}
	_ admission.InitializationValidator = &Plugin{}
)

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	return initializer.Initialized(PluginName, &p.HostClient, &p.KruiseClient, &p.Features, &p.OwnNamespace)
}

// Validate implements admission.ValidationInterface. It collects the problems of all checks, so the user sees them in
// one answer. An error of a read is an internal error: a SidecarSet that could not be checked is not written.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	set, ok := attributes.GetObject().(*apps.SidecarSet)
	if !ok || attributes.GetSubresource() != "" {
		return nil
	}
	old, _ := attributes.GetOldObject().(*apps.SidecarSet)
	// A terminating SidecarSet may only lose finalizers, and a check could block that.
	if old != nil && (set.DeletionTimestamp != nil || sameQuestions(set, old)) {
		return nil
	}
	var errs field.ErrorList
	for _, check := range []func(context.Context, *apps.SidecarSet, *apps.SidecarSet) (field.ErrorList, error){
		p.checkOthers, p.checkRevision, p.checkAnnotations,
	} {
		found, err := check(ctx, set, old)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("admit SidecarSet %s: %w", set.Name, err))
		}
		errs = append(errs, found...)
	}
	if len(errs) == 0 {
		return nil
	}
	return rules.Invalid(apps.Kind("SidecarSet"), set.Name, errs)
}

// sameQuestions returns true if an update changes nothing that this plugin checks. Most updates only change the
// status, labels or annotations, and they must succeed even if other objects would conflict today.
func sameQuestions(set, old *apps.SidecarSet) bool {
	for _, key := range []string{pub.SidecarSetCanaryKey, pub.SidecarSetBaseKey} {
		if set.Annotations[key] != old.Annotations[key] {
			return false
		}
	}
	return apiequality.Semantic.DeepEqual(set.Spec, old.Spec)
}
