package ephemeralcontainers

import (
	"context"
	"fmt"
	"io"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kruise.io/kruise/pkg/admission/permission"
	"kruise.io/kruise/pkg/apis/apps"
)

// PluginName is the plugin's name in flags.
const PluginName = "EphemeralContainers"

// Register adds the plugin.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// Plugin checks who creates and changes EphemeralJobs.
type Plugin struct {
	*admission.Handler
	permission.Asker
}

var _ admission.ValidationInterface = &Plugin{}

// New returns a plugin. An initializer sets its dependency.
func New() *Plugin { return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)} }

// Validate refuses a new EphemeralJob, and a change of what a job adds to which Pods, by a user who may not patch
// pods/ephemeralcontainers. Other changes, such as a pause or a shorter deadline, need no further permission.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	job, ok := attributes.GetObject().(*apps.EphemeralJob)
	if !ok || attributes.GetSubresource() != "" || unchanged(job, attributes.GetOldObject()) {
		return nil
	}
	message := fmt.Sprintf("an EphemeralJob adds ephemeral containers to Pods, and you cannot patch pods/ephemeralcontainers in "+
		"namespace %s; get a role there with the verb patch for that resource", attributes.GetNamespace())
	return p.Require(ctx, attributes, authorizer.AttributesRecord{
		Verb: "patch", Namespace: attributes.GetNamespace(), APIVersion: "v1", Resource: "pods", Subresource: "ephemeralcontainers",
	}, message)
}

// unchanged reports whether a job adds the same containers to the same Pods as before.
func unchanged(job *apps.EphemeralJob, before runtime.Object) bool {
	old, ok := before.(*apps.EphemeralJob)
	return ok && apiequality.Semantic.DeepEqual(job.Spec.Template, old.Spec.Template) &&
		apiequality.Semantic.DeepEqual(job.Spec.Selector, old.Spec.Selector) &&
		apiequality.Semantic.DeepEqual(job.Spec.Replicas, old.Spec.Replicas)
}
