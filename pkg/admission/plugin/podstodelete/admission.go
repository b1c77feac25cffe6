package podstodelete

import (
	"context"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/rules"
)

// PluginName is the plugin's name in flags.
const PluginName = "CloneSetPodsToDelete"

// mostNames limits how many Pods one CloneSet may name at once. The names are part of the stored object, and the
// controller reads them in every pass.
const mostNames = 1000

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// Register adds the plugin to the list.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// New returns the plugin. It reads Pods live, because a cache may be stale: a Pod that was created a moment ago may
// be named.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// Plugin is the admission plugin. It reads only the metadata of Pods: the labels, the owner and the deletion
// timestamp decide.
type Plugin struct {
	*admission.Handler
	initializer.MetadataClient
}

var (
	_ admission.ValidationInterface     = &Plugin{}
	_ admission.InitializationValidator = &Plugin{}
)

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	return initializer.Initialized(PluginName, &p.MetadataClient)
}

// Validate implements admission.ValidationInterface. It checks only names that the update adds. A stored name stays
// valid after its Pod is deleted, else no update of the CloneSet could succeed until the controller has removed the
// name.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	cloneSet, ok := attributes.GetObject().(*apps.CloneSet)
	if !ok || attributes.GetSubresource() != "" {
		return nil
	}
	var known []string
	if old, ok := attributes.GetOldObject().(*apps.CloneSet); ok {
		known = old.Spec.ScaleStrategy.PodsToDelete
	}
	added := sets.New(cloneSet.Spec.ScaleStrategy.PodsToDelete...).Delete(known...)
	if added.Len() == 0 {
		return nil
	}
	errs, err := p.check(ctx, cloneSet, added, attributes.GetOperation() == admission.Create)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if len(errs) == 0 {
		return nil
	}
	return rules.Invalid(apps.Kind("CloneSet"), cloneSet.Name, errs)
}

// check returns the problems of the added names. It reads Pods at most once, however many names there are. The format
// is checked before, because a name is part of a field selector.
func (p *Plugin) check(ctx context.Context, cloneSet *apps.CloneSet, added sets.Set[string], create bool) (field.ErrorList, error) {
	at, names := field.NewPath("spec", "scaleStrategy", "podsToDelete"), cloneSet.Spec.ScaleStrategy.PodsToDelete
	switch {
	// The controller creates the Pods with generated names after this request, so any name would be a mistake.
	case create:
		return field.ErrorList{field.Forbidden(at, "a new CloneSet owns no Pods; name them after its creation")}, nil
	case len(names) > mostNames:
		return field.ErrorList{field.Invalid(at, len(names), fmt.Sprintf(
			"must list at most %d names; add the others after these Pods are deleted", mostNames))}, nil
	}
	var errs field.ErrorList
	for i, name := range names {
		if added.Has(name) && (name == "" || len(content.IsPathSegmentName(name)) > 0) {
			errs = append(errs, field.Invalid(at.Index(i), name, "is not a valid Pod name"))
		}
	}
	if len(errs) > 0 {
		return errs, nil
	}
	own, err := p.own(ctx, cloneSet, added)
	if err != nil {
		return nil, err
	}
	// The index in the message is that of the list that the user wrote.
	for i, name := range names {
		pod := own[name]
		switch {
		// Names that the stored object has already are not checked again.
		case !added.Has(name):
		case pod == nil:
			errs = append(errs, field.Invalid(at.Index(i), name,
				fmt.Sprintf("no Pod of this name in namespace %s belongs to this CloneSet", cloneSet.Namespace)))
		case pod.DeletionTimestamp != nil:
			errs = append(errs, field.Invalid(at.Index(i), name, "the Pod is being deleted already"))
		}
	}
	return errs, nil
}

// own returns the Pods that the CloneSet controls, by name. It returns only the named Pod if there is one name. A Pod whose labels
// do not match the selector is not among them, because the CloneSet releases it.
func (p *Plugin) own(
	ctx context.Context, cloneSet *apps.CloneSet, names sets.Set[string],
) (map[string]*metav1.PartialObjectMetadata, error) {
	selector, err := metav1.LabelSelectorAsSelector(cloneSet.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("parse spec.selector: %w", err)
	}
	// One name is the usual case. The field selector lets the server return one Pod instead of all Pods of the
	// CloneSet.
	options := metav1.ListOptions{LabelSelector: selector.String()}
	if names.Len() == 1 {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, names.UnsortedList()[0]).String()
	}
	list, err := p.Metadata.Resource(pods).Namespace(cloneSet.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list Pods of CloneSet %s/%s: %w", cloneSet.Namespace, cloneSet.Name, err)
	}
	own := make(map[string]*metav1.PartialObjectMetadata, len(list.Items))
	for i := range list.Items {
		if pod := &list.Items[i]; metav1.IsControlledBy(pod, cloneSet) {
			own[pod.Name] = pod
		}
	}
	return own, nil
}
