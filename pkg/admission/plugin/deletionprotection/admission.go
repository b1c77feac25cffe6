package deletionprotection

import (
	"context"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/features"
)

// PluginName is the plugin's name in flags.
const PluginName = "DeletionProtection"

// Register adds the plugin to the list. inTerminatingNamespaces is called after the flags are parsed. It says whether
// objects stay protected while their namespace is being deleted.
func Register(plugins *admission.Plugins, inTerminatingNamespaces func() bool) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(inTerminatingNamespaces()), nil })
}

// New returns the plugin. It handles creations and updates too, but only to warn about label values without effect.
func New(inTerminatingNamespaces bool) *Plugin {
	RegisterMetrics()
	return &Plugin{
		Handler:                 admission.NewHandler(admission.Create, admission.Update, admission.Delete),
		inTerminatingNamespaces: inTerminatingNamespaces,
	}
}

// Plugin is the admission plugin.
type Plugin struct {
	*admission.Handler
	initializer.HostClient
	initializer.MetadataClient
	initializer.Features
	initializer.ProtectionLog
	// inTerminatingNamespaces keeps the protection of objects whose namespace is being deleted. It is set once by
	// New.
	inTerminatingNamespaces bool
}

var (
	_ admission.ValidationInterface     = &Plugin{}
	_ admission.InitializationValidator = &Plugin{}
	_ initializer.WantsReviewClients    = &Plugin{}
)

// SetReviewClients implements initializer.WantsReviewClients. All reads of the plugin use these clients, because
// kube-apiserver waits for the answer before it deletes a namespace.
func (p *Plugin) SetReviewClients(host kubernetes.Interface, metadata metadata.Interface) {
	p.Host, p.Metadata = host, metadata
}

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	return initializer.Initialized(PluginName, &p.HostClient, &p.MetadataClient, &p.Features, &p.ProtectionLog)
}

// Validate implements admission.ValidationInterface. A refusal is 403. It is called for the stored object inside the
// transaction that deletes it, so for kinds of this server it sees the label as it is at that moment.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	// Subresources delete nothing, and other resources have no protection.
	kind, known := protected(attributes.GetResource().GroupResource())
	if !known || attributes.GetSubresource() != "" || !p.Gate.Enabled(features.ResourcesDeletionProtection) {
		return nil
	}
	if attributes.GetOperation() == admission.Delete {
		return p.validateDelete(ctx, attributes, kind)
	}
	warn(ctx, attributes)
	return nil
}

// validateDelete checks the stored object. It ignores the delete options: an orphaning deletion of a protected
// workload is refused too. A dry run is refused as well, but not recorded.
func (p *Plugin) validateDelete(ctx context.Context, attributes admission.Attributes, kind kind) error {
	object := attributes.GetOldObject()
	// An object that terminates already was admitted once. Later deletions of it, for example by the garbage
	// collector, must succeed.
	accessor, err := meta.Accessor(object)
	if err != nil || accessor.GetDeletionTimestamp() != nil {
		return nil //nolint:nilerr // a host that does not say what is deleted has no label to show
	}
	protection, reason := accessor.GetLabels()[pub.DeletionProtectionKey], ""
	switch protection {
	case pub.DeletionProtectionAlways:
	case pub.DeletionProtectionCascading:
		if reason = kind.contents(ctx, p, object); reason == "" {
			return nil
		}
	default:
		return nil
	}
	// This is asked last, because it costs a request, and only objects that would be refused need it.
	if leaves, err := p.leavesWithNamespace(ctx, kind, accessor.GetNamespace()); leaves || err != nil {
		return err
	}
	// Use the object and not the attributes, because the deletion of a collection names no object in the attributes.
	if !attributes.IsDryRun() {
		p.record(ctx, kind, accessor, attributes.GetUserInfo().GetName())
	}
	return apierrors.NewForbidden(attributes.GetResource().GroupResource(), accessor.GetName(), refusal(protection, reason))
}

// leavesWithNamespace returns true if the object is deleted together with its namespace. The namespace has passed its
// own protection, so a refusal would only block its deletion forever. With inTerminatingNamespaces, and for a kind
// without a namespace, it returns false without a read.
func (p *Plugin) leavesWithNamespace(ctx context.Context, kind kind, name string) (bool, error) {
	if p.inTerminatingNamespaces || kind.clusterScoped {
		return false, nil
	}
	namespace, err := p.Host.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, apierrors.NewInternalError(fmt.Errorf("get namespace %s of the protected %s: %w", name, kind.name, err))
	}
	return namespace.DeletionTimestamp != nil, nil
}

// warn sends a warning to a user who sets a label value that protects nothing. The write itself is allowed.
// An unchanged value causes no warning, so controllers that write the object often do not repeat it.
func warn(ctx context.Context, attributes admission.Attributes) {
	value, labelled := labelsOf(attributes.GetObject())[pub.DeletionProtectionKey]
	if !labelled || value == pub.DeletionProtectionAlways || value == pub.DeletionProtectionCascading {
		return
	}
	if before, had := labelsOf(attributes.GetOldObject())[pub.DeletionProtectionKey]; had && before == value {
		return
	}
	warning.AddWarning(ctx, "", fmt.Sprintf("label %s=%q has no effect: use %s or %s",
		pub.DeletionProtectionKey, value, pub.DeletionProtectionAlways, pub.DeletionProtectionCascading))
}

// labelsOf returns the labels of an object. It returns nil for no object, such as the old object of a creation.
func labelsOf(object runtime.Object) map[string]string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil
	}
	return accessor.GetLabels()
}
