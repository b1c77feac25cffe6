package apps

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps"
)

// PullSecretsPath is the resource and subresource that returns the Secrets that a NodeImage names.
const PullSecretsPath = "nodeimages/pullsecrets"

// PullSecrets reads Secrets from the only namespace whose Secrets node agents may get.
type PullSecrets struct {
	Namespace string
	// Read reads the Secret live, because an agent must never use revoked credentials.
	Read func(ctx context.Context, name string) (*corev1.Secret, error)
}

// extend adds the subresource to the storages of NodeImages, unless p is nil.
func (p *PullSecrets) extend(storages map[string]genericrest.Storage) {
	if images, ok := storages["nodeimages"].(genericrest.Getter); ok && p != nil {
		storages[PullSecretsPath] = &pullSecretsREST{images: images, secrets: p}
	}
}

// pullSecretsREST serves the subresource. It returns the Secrets that a NodeImage names. This server does not store them; they are in
// the host cluster. A node agent has no access to Secrets. Through this path it gets only the Secrets that its own node needs.
type pullSecretsREST struct {
	images  genericrest.Getter
	secrets *PullSecrets
}

var (
	_ genericrest.Getter                   = &pullSecretsREST{}
	_ genericrest.GroupVersionKindProvider = &pullSecretsREST{}
)

// GroupVersionKind returns the kind of a list of Secrets, for every version of NodeImage.
func (*pullSecretsREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return corev1.SchemeGroupVersion.WithKind("SecretList")
}

// New returns an empty list of Secrets.
func (*pullSecretsREST) New() runtime.Object { return &corev1.SecretList{} }

// Destroy does nothing, because the main resource owns the store.
func (*pullSecretsREST) Destroy() {}

// Get returns the Secrets, sorted by name. It skips a Secret that does not exist or cannot be read; the pull goes on without it. It
// also skips Secrets of other namespaces, which only the owners of those namespaces may read. It returns an error if the host cluster
// does not answer, or if no Secret can be read.
func (r *pullSecretsREST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	object, err := r.images.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	image, ok := object.(*apps.NodeImage)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("unexpected type %T", object))
	}
	list := &corev1.SecretList{Items: []corev1.Secret{}}
	var failures []error
	for _, name := range r.named(image) {
		secret, err := r.secrets.Read(ctx, name)
		switch {
		case err == nil:
			// The agent does not use them, and they can be larger than the Secret.
			secret.ManagedFields = nil
			list.Items = append(list.Items, *secret)
		case apierrors.IsNotFound(err):
		// The other reads would only wait for the same outage.
		case outage(err):
			return nil, r.failure(name, err)
		default:
			failures = append(failures, r.failure(name, err))
		}
	}
	if len(failures) > 0 && len(list.Items) == 0 {
		return nil, failures[0]
	}
	for _, err := range failures {
		klog.FromContext(ctx).Error(err, "Left out a pull secret that cannot be read", "nodeImage", klog.KObj(image))
	}
	return list, nil
}

// outage reports whether an error is about the host cluster, and not about one Secret.
func outage(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err)
}

// failure returns the error for the agent. A refusal of the host cluster stays what it is, so that the agent pulls without
// the Secrets. Every other failure counts as an outage, and the agent tries again.
func (r *pullSecretsREST) failure(name string, err error) error {
	if refusal, found := errors.AsType[*apierrors.StatusError](err); found && refusal.ErrStatus.Code/100 == 4 {
		return refusal
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("read Secret %s/%s: %v", r.secrets.Namespace, name, err))
}

// named returns the names of the Secrets that the NodeImage lists, without duplicates.
func (r *pullSecretsREST) named(image *apps.NodeImage) []string {
	names := sets.New[string]()
	for _, entry := range image.Spec.Images {
		for _, ref := range entry.PullSecrets {
			if ref.Namespace == r.secrets.Namespace && ref.Name != "" {
				names.Insert(ref.Name)
			}
		}
	}
	return sets.List(names)
}
