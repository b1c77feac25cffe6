package scheduledpulls

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
const PluginName = "ScheduledImagePulls"

// Register adds the plugin.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// Plugin checks templates of ImageListPullJobs in AdvancedCronJobs.
type Plugin struct {
	*admission.Handler
	permission.Asker
}

var _ admission.ValidationInterface = &Plugin{}

// New returns a plugin. An initializer sets its dependency.
func New() *Plugin { return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)} }

// Validate refuses a new or changed template of ImageListPullJobs by a user who may not create them. A template that stays needs no
// permission, so other users can still pause the job or change its schedule.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	template := templateOf(attributes.GetObject())
	if template == nil || apiequality.Semantic.DeepEqual(template, templateOf(attributes.GetOldObject())) {
		return nil
	}
	resource := attributes.GetResource()
	message := fmt.Sprintf("spec.template.imageListPullJobTemplate pulls images on nodes, and you cannot create imagelistpulljobs "+
		"in namespace %s; get the ClusterRole kruise-image-pulls there, or use another template", attributes.GetNamespace())
	return p.Require(ctx, attributes, authorizer.AttributesRecord{
		Verb: "create", Namespace: attributes.GetNamespace(),
		APIGroup: resource.Group, APIVersion: resource.Version, Resource: "imagelistpulljobs",
	}, message)
}

// templateOf returns the template of ImageListPullJobs of an AdvancedCronJob, or nil if the object has none.
func templateOf(object runtime.Object) *apps.ImageListPullJobTemplateSpec {
	if job, ok := object.(*apps.AdvancedCronJob); ok {
		return job.Spec.Template.ImageListPullJobTemplate
	}
	return nil
}
