package apps

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	genericrest "k8s.io/apiserver/pkg/registry/rest"

	"kruise.io/kruise/pkg/apis/apps"
)

// PullSecretsPath is the resource and subresource of the Secrets that a NodeImage names.
const PullSecretsPath = "nodeimages/pullsecrets"

// PullSecrets reads Secrets of the one namespace from which node agents get any.
type PullSecrets struct {
	Namespace string
	// Read reads the Secret as it is now: an agent must never use credentials that were withdrawn.
	Read func(ctx context.Context, name string) (*corev1.Secret, error)
}

// AddPullSecrets adds the subresource to the storage of NodeImages. Storage of other kinds stays as it is.
func AddPullSecrets(storage map[string]genericrest.Storage, secrets *PullSecrets) {
	if images, ok := storage["nodeimages"].(genericrest.Getter); ok {
		storage[PullSecretsPath] = &pullSecretsREST{images: images, secrets: secrets}
	}
}

// pullSecretsREST answers with the Secrets that a NodeImage names. They are stored in the host cluster, and nowhere here: an
// agent has no access to Secrets, and gets those that its node needs, one node's and no more, by way of this path.
type pullSecretsREST struct {
	images  genericrest.Getter
	secrets *PullSecrets
}

var (
	_ genericrest.Getter                   = &pullSecretsREST{}
	_ genericrest.GroupVersionKindProvider = &pullSecretsREST{}
)

// GroupVersionKind is that of a list of Secrets, whatever the version of the NodeImage.
func (*pullSecretsREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return corev1.SchemeGroupVersion.WithKind("SecretList")
}

// New returns an empty answer.
func (*pullSecretsREST) New() runtime.Object { return &corev1.SecretList{} }

// Destroy leaves the store to the main resource.
func (*pullSecretsREST) Destroy() {}

// Get reads the Secrets, by name. One that does not exist is left out: the pull goes on without it. So is one of another
// namespace, which nobody but its owners may see.
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
	for _, name := range r.named(image) {
		secret, err := r.secrets.Read(ctx, name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("read Secret %s/%s: %w", r.secrets.Namespace, name, err))
		}
		secret.ManagedFields = nil
		list.Items = append(list.Items, *secret)
	}
	return list, nil
}

// named are the names of the Secrets that the NodeImage names, each once.
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
