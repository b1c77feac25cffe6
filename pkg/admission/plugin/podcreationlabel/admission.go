package podcreationlabel

import (
	"context"
	"io"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"

	"kruise.io/kruise/pkg/admission/review"
	"kruise.io/kruise/pkg/apis/pub"
)

// PluginName is the plugin's name in flags.
const PluginName = "PodCreationLabel"

// Register adds the plugin to the list.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// Plugin is the admission plugin. It has no state.
type Plugin struct{ *admission.Handler }

var _ review.Patcher = &Plugin{}

// New returns a plugin.
func New() *Plugin { return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)} }

// Patch removes the label. It does not look at SidecarSets: after half a minute, the controller adds the label again if it is still right.
func (p *Plugin) Patch(_ context.Context, attributes admission.Attributes) ([]review.Operation, error) {
	namespace, ok := attributes.GetObject().(*corev1.Namespace)
	if !ok || attributes.GetSubresource() != "" || !ignored(namespace) {
		return nil, nil
	}
	// The controller adds the label to a namespace that it has checked. A new namespace is a copy of one that had the label.
	if before, updated := attributes.GetOldObject().(*corev1.Namespace); updated &&
		(!ignored(before) || maps.Equal(before.Labels, namespace.Labels)) {
		return nil, nil
	}
	return []review.Operation{{Op: "remove", Path: "/metadata/labels/" + strings.ReplaceAll(pub.PodCreationKey, "/", "~1")}}, nil
}

// ignored reports whether new Pods in the namespace are not sent to this server.
func ignored(namespace *corev1.Namespace) bool {
	return namespace.Labels[pub.PodCreationKey] == pub.PodCreationIgnored
}
