package resourcedistribution

import (
	"bytes"
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/apps"
)

// PluginName is the plugin's name in flags.
const PluginName = "ResourceDistribution"

// Register adds the plugin to the list.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// New returns the plugin.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// Plugin is the admission plugin. It creates as a dry run, so this server needs the permission to create Secrets and
// ConfigMaps.
type Plugin struct {
	*admission.Handler
	initializer.HostClient
	initializer.OwnNamespace
}

var (
	_ admission.ValidationInterface     = &Plugin{}
	_ admission.InitializationValidator = &Plugin{}
)

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	return initializer.Initialized(PluginName, &p.HostClient, &p.OwnNamespace)
}

// Validate implements admission.ValidationInterface. An update is tried only if the resource itself changed, so a
// cluster policy that became stricter does not block changes of the targets.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	distribution, ok := attributes.GetObject().(*apps.ResourceDistribution)
	if !ok || attributes.GetSubresource() != "" {
		return nil
	}
	old, ok := attributes.GetOldObject().(*apps.ResourceDistribution)
	if ok && bytes.Equal(old.Spec.Resource.Raw, distribution.Spec.Resource.Raw) {
		return nil
	}
	err := p.try(ctx, distribution.Spec.Resource.Raw)
	path := field.NewPath("spec", "resource")
	switch {
	// An object of the same name in the Kruise namespace says nothing about other namespaces. A local development
	// cluster may not have the Kruise namespace. Then the copy cannot be tried.
	case err == nil, apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return nil
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return apierrors.NewInvalid(apps.Kind("ResourceDistribution"), distribution.Name,
			field.ErrorList{field.Forbidden(path, "the cluster rejects this object: "+err.Error())})
	case apierrors.IsForbidden(err):
		return apierrors.NewForbidden(apps.Resource("resourcedistributions"), distribution.Name,
			fmt.Errorf("%s: the cluster rejects this object: %w", path, err))
	}
	// Another error says nothing about the resource: the cluster did not answer or is overloaded. The user retries.
	return apierrors.NewInternalError(fmt.Errorf("failed to dry-run the resource in namespace %s: %w", p.Namespace, err))
}

// try creates a copy in the Kruise namespace as a dry run, as the type that the resource names. Validation allows
// Secrets and ConfigMaps only, so everything that is no Secret is a ConfigMap. It returns the error of the cluster
// unchanged, because the caller distinguishes them.
func (p *Plugin) try(ctx context.Context, raw []byte) error {
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	var kind metav1.TypeMeta
	if err := json.Unmarshal(raw, &kind); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if kind.Kind == "Secret" {
		secret := &corev1.Secret{}
		if err := json.Unmarshal(raw, secret); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		secret.Namespace = p.Namespace
		_, err := p.Host.CoreV1().Secrets(p.Namespace).Create(ctx, secret, options)
		return err
	}
	configMap := &corev1.ConfigMap{}
	if err := json.Unmarshal(raw, configMap); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	configMap.Namespace = p.Namespace
	_, err := p.Host.CoreV1().ConfigMaps(p.Namespace).Create(ctx, configMap, options)
	return err
}
