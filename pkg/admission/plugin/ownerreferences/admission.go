package ownerreferences

import (
	"context"
	"errors"
	"fmt"
	"io"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kruise.io/kruise/pkg/admission/permission"
)

// PluginName is the plugin's name in flags. kube-apiserver uses the same name.
const PluginName = "OwnerReferencesPermissionEnforcement"

// Register adds the plugin.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// Plugin checks changes of owner references.
type Plugin struct {
	*admission.Handler
	permission.Asker
	// mapper is set once by an initializer and only read afterwards. It knows the kinds of the host cluster too, because owners can be of
	// any kind.
	mapper meta.RESTMapper
}

var (
	_ admission.ValidationInterface = &Plugin{}
	_ initializer.WantsRESTMapper   = &Plugin{}
)

// New returns a plugin. An initializer sets its dependencies.
func New() *Plugin { return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)} }

// SetRESTMapper implements initializer.WantsRESTMapper.
func (p *Plugin) SetRESTMapper(mapper meta.RESTMapper) { p.mapper = mapper }

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	if p.mapper == nil {
		return errors.New("the plugin needs a REST mapper")
	}
	return p.Asker.ValidateInitialization()
}

// Validate refuses owner references that the user may not set. A creation may set owners freely, because the user
// could also choose not to create the object. Only blockOwnerDeletion is checked then.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	now, before := owners(attributes.GetObject()), owners(attributes.GetOldObject())
	if apiequality.Semantic.DeepEqual(now, before) {
		return nil
	}
	if attributes.GetOperation() == admission.Update {
		if err := p.mayDelete(ctx, attributes); err != nil {
			return err
		}
	}
	for _, owner := range newlyBlocked(now, before) {
		if err := p.mayFinalize(ctx, attributes, &owner); err != nil {
			return err
		}
	}
	return nil
}

// mayDelete returns nil if the user may delete the object. The reason: with a new owner, the garbage collector
// deletes the object together with that owner, so the change is a way to delete it.
func (p *Plugin) mayDelete(ctx context.Context, attributes admission.Attributes) error {
	resource := attributes.GetResource()
	return p.Require(ctx, attributes, authorizer.AttributesRecord{
		Verb: "delete", Namespace: attributes.GetNamespace(), Name: attributes.GetName(),
		APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource, Subresource: attributes.GetSubresource(),
	}, "cannot set an ownerRef on a resource you can't delete; get permission to delete it, or do not change metadata.ownerReferences")
}

// mayFinalize checks the permission for every resource that the owner's kind maps to. The reason: blockOwnerDeletion
// delays the deletion of the owner, as a finalizer does. An owner of an unknown kind is refused, because nobody can
// say which permission it needs.
func (p *Plugin) mayFinalize(ctx context.Context, attributes admission.Attributes, owner *metav1.OwnerReference) error {
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	mappings, err := p.mapper.RESTMappings(kind.GroupKind(), kind.Version)
	if err != nil {
		return permission.Refused(attributes, fmt.Sprintf("cannot set blockOwnerDeletion: the cluster does not serve owner kind %s of %s; "+
			"correct the reference, or remove the field", owner.Kind, owner.APIVersion), "", err)
	}
	for _, mapping := range mappings {
		record := authorizer.AttributesRecord{
			Verb: "update", Name: owner.Name,
			APIGroup: mapping.Resource.Group, APIVersion: mapping.Resource.Version, Resource: mapping.Resource.Resource, Subresource: "finalizers",
		}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace { // An owner is in the same namespace, or is cluster-scoped.
			record.Namespace = attributes.GetNamespace()
		}
		if err := p.Require(ctx, attributes, record, fmt.Sprintf("cannot set blockOwnerDeletion if an ownerReference refers to "+
			"a resource you can't set finalizers on; get permission to update %s/finalizers, or remove the field", mapping.Resource.Resource),
		); err != nil {
			return err
		}
	}
	return nil
}

// owners returns the owner references of an object, or nil if there is no object.
func owners(obj runtime.Object) []metav1.OwnerReference {
	accessor, err := meta.Accessor(obj) // A creation has no old object.
	if err != nil {
		return nil
	}
	return accessor.GetOwnerReferences()
}

// newlyBlocked returns the owners whose deletion the change newly blocks. Owners are compared by UID, so a reference
// that already blocked, and stays, needs no permission again.
func newlyBlocked(now, before []metav1.OwnerReference) (result []metav1.OwnerReference) {
	blocked := map[string]bool{}
	for i := range before {
		blocked[string(before[i].UID)] = blocks(&before[i])
	}
	for i := range now {
		if blocks(&now[i]) && !blocked[string(now[i].UID)] {
			result = append(result, now[i])
		}
	}
	return result
}

// blocks returns true if the reference blocks a foreground deletion of its owner. A missing field means false.
func blocks(owner *metav1.OwnerReference) bool {
	return owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion
}
