package scheduledpulls

import (
	"context"
	"errors"
	"fmt"
	"io"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
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
	// authorizer is set once by an initializer.
	authorizer authorizer.Authorizer
}

var (
	_ admission.ValidationInterface = &Plugin{}
	_ initializer.WantsAuthorizer   = &Plugin{}
)

// New returns a plugin. An initializer sets its dependency.
func New() *Plugin { return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)} }

// SetAuthorizer implements initializer.WantsAuthorizer.
func (p *Plugin) SetAuthorizer(authorizer authorizer.Authorizer) { p.authorizer = authorizer }

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	if p.authorizer == nil {
		return errors.New(PluginName + " needs an authorizer")
	}
	return nil
}

// Validate refuses a new or changed template of ImageListPullJobs by a user who may not create them. A template that stays needs no
// permission, so other users can still pause the job or change its schedule.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	template := templateOf(attributes.GetObject())
	if template == nil || apiequality.Semantic.DeepEqual(template, templateOf(attributes.GetOldObject())) {
		return nil
	}
	resource := attributes.GetResource()
	decision, reason, err := p.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: attributes.GetUserInfo(), Verb: "create", ResourceRequest: true, Namespace: attributes.GetNamespace(),
		APIGroup: resource.Group, APIVersion: resource.Version, Resource: "imagelistpulljobs",
	})
	if decision == authorizer.DecisionAllow {
		return nil
	}
	message := fmt.Sprintf("spec.template.imageListPullJobTemplate pulls images on nodes, and you cannot create imagelistpulljobs "+
		"in namespace %s; get the ClusterRole kruise-image-pulls there, or use another template", attributes.GetNamespace())
	return permission.Refused(attributes, message, reason, err)
}

// templateOf returns the template of ImageListPullJobs of an AdvancedCronJob, or nil if the object has none.
func templateOf(object runtime.Object) *apps.ImageListPullJobTemplateSpec {
	if job, ok := object.(*apps.AdvancedCronJob); ok {
		return job.Spec.Template.ImageListPullJobTemplate
	}
	return nil
}
