package resourcedistribution

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/consistency"
)

// client is the part of a typed client that writes copies.
type client[T controller.Object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// copies reads and writes the copies of one kind. Its fields are set by build and only read afterwards.
type copies[T controller.Object] struct {
	// resource is what guard waits for, client writes in a namespace, and cached is the cache, which contains values of type
	// seen.
	resource schema.GroupResource
	client   func(namespace string) client[T]
	cached   cache.Indexer
	guard    *consistency.Guard
	// decode returns the object in spec.resource, as a server stores it.
	decode func(raw []byte) (T, error)
}

// seen is a copy in the cache. It has the metadata and a digest of the content, because the content of Secrets would use most
// of the memory, and nothing but a comparison needs it.
type seen struct {
	metav1.PartialObjectMetadata
	digest [sha256.Size]byte
}

// reduce is the transform of the caches of copies. An informer can call it twice for one object.
func reduce(obj any) (any, error) {
	digest, err := digestOf(obj)
	if err != nil {
		return nil, err
	}
	if digest == nil {
		return obj, nil // It is reduced already.
	}
	s := &seen{digest: *digest}
	switch typed := obj.(type) {
	case *corev1.Secret:
		s.ObjectMeta = typed.ObjectMeta
	case *corev1.ConfigMap:
		s.ObjectMeta = typed.ObjectMeta
	}
	// They change with each write of any client, and nothing reads them.
	s.ManagedFields = nil
	return s, nil
}

// digestOf returns a digest of everything in a Secret or a ConfigMap except its metadata, or nil for another object. Empty maps
// count as nil maps, because a server stores both in the same form.
func digestOf(obj any) (*[sha256.Size]byte, error) {
	var content []any
	switch typed := obj.(type) {
	case *corev1.Secret:
		content = []any{typed.Type, typed.Data, typed.Immutable}
		if len(typed.Data) == 0 {
			content[1] = nil
		}
	case *corev1.ConfigMap:
		content = []any{typed.Data, typed.BinaryData, typed.Immutable}
		if len(typed.Data) == 0 {
			content[0] = nil
		}
		if len(typed.BinaryData) == 0 {
			content[1] = nil
		}
	default:
		return nil, nil
	}
	// JSON sorts the keys of maps, so equal content has equal digests.
	encoded, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode the content of a copy: %w", err)
	}
	digest := sha256.Sum256(encoded)
	return &digest, nil
}

// decodeSecret returns a Secret as a server stores it: with a type, and with stringData moved to data. So a copy with
// stringData is not written again at each pass (case 14 of docs/contract/resourcedistribution.md).
func decodeSecret(raw []byte) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := json.Unmarshal(raw, secret); err != nil {
		return nil, err
	}
	if secret.Type == "" {
		secret.Type = corev1.SecretTypeOpaque
	}
	for key, value := range secret.StringData {
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
	return secret, nil
}

// decodeConfigMap returns a ConfigMap. A server stores it as it is written.
func decodeConfigMap(raw []byte) (*corev1.ConfigMap, error) {
	configMap := &corev1.ConfigMap{}
	return configMap, json.Unmarshal(raw, configMap)
}

// template returns the copy of a ResourceDistribution, without a namespace. Of the metadata of the resource it keeps the name,
// labels, annotations, owner references and finalizers. It adds the label by which copies are watched, the annotations with the
// origin and the hash, and the owner. It returns an error if the resource cannot be decoded.
func (c *copies[T]) template(d *v1beta1.ResourceDistribution) (T, error) {
	object, err := c.decode(d.Spec.Resource.Raw)
	if err != nil {
		return object, fmt.Errorf("decode spec.resource: %w", err)
	}
	// Everything else in the metadata belongs to the server.
	kept := metav1.ObjectMeta{
		Name: object.GetName(), Labels: maps.Clone(object.GetLabels()), Annotations: maps.Clone(object.GetAnnotations()),
		OwnerReferences: object.GetOwnerReferences(), Finalizers: object.GetFinalizers(),
	}
	// The hash is of the bytes of spec.resource, as a GET returns them (case 20), not of the digest of the cache.
	sum := sha256.Sum256(d.Spec.Resource.Raw)
	metav1.SetMetaDataLabel(&kept, pub.DistributedCopyKey, "true")
	metav1.SetMetaDataAnnotation(&kept, pub.ResourceDistributedFromKey, d.Name)
	metav1.SetMetaDataAnnotation(&kept, pub.ResourceDistributionHashKey, hex.EncodeToString(sum[:]))
	kept.OwnerReferences = append(kept.OwnerReferences, *metav1.NewControllerRef(d, kind))
	overwrite(object, &kept)
	return object, nil
}

// overwrite replaces all metadata of an object. It works through the interface, because the fields of a type parameter cannot
// be set.
func overwrite(object, with metav1.Object) {
	object.SetName(with.GetName())
	object.SetNamespace(with.GetNamespace())
	object.SetGenerateName(with.GetGenerateName())
	object.SetUID(with.GetUID())
	object.SetResourceVersion(with.GetResourceVersion())
	object.SetGeneration(with.GetGeneration())
	object.SetCreationTimestamp(with.GetCreationTimestamp())
	object.SetDeletionTimestamp(with.GetDeletionTimestamp())
	object.SetDeletionGracePeriodSeconds(with.GetDeletionGracePeriodSeconds())
	object.SetLabels(with.GetLabels())
	object.SetAnnotations(with.GetAnnotations())
	object.SetOwnerReferences(with.GetOwnerReferences())
	object.SetFinalizers(with.GetFinalizers())
	object.SetManagedFields(with.GetManagedFields())
}

// merge gives a live object the metadata of the template. Labels, annotations and finalizers that the template lacks belong to
// other clients, and stay. Owner references are replaced. An object that is being deleted cannot get a finalizer.
func merge(live, template metav1.Object) {
	live.SetLabels(merged(live.GetLabels(), template.GetLabels()))
	live.SetAnnotations(merged(live.GetAnnotations(), template.GetAnnotations()))
	live.SetOwnerReferences(template.GetOwnerReferences())
	if live.GetDeletionTimestamp() != nil {
		return
	}
	finalizers := slices.Clone(live.GetFinalizers())
	for _, finalizer := range template.GetFinalizers() {
		if !slices.Contains(finalizers, finalizer) {
			finalizers = append(finalizers, finalizer)
		}
	}
	live.SetFinalizers(finalizers)
}

// merged returns a new map with the entries of both. Those of the template win.
func merged(live, template map[string]string) map[string]string {
	all := maps.Clone(live)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, template)
	return all
}

// owned returns the copies of a ResourceDistribution in the cache, in all namespaces. They are found by the UID of their owner.
func (c *copies[T]) owned(d *v1beta1.ResourceDistribution) ([]*seen, error) {
	return controller.ByClusterOwner[*seen](c.cached, d.UID)
}

// right reports whether a copy is as the template says, so that merge would not change it. digest is that of the template. It is asked for
// each copy in each pass, so it copies nothing.
func right(live *seen, template metav1.Object, digest [sha256.Size]byte) bool {
	missing := func(finalizer string) bool { return !slices.Contains(live.Finalizers, finalizer) }
	return live.digest == digest && contains(live.Labels, template.GetLabels()) && contains(live.Annotations, template.GetAnnotations()) &&
		(live.DeletionTimestamp != nil || !slices.ContainsFunc(template.GetFinalizers(), missing)) &&
		apiequality.Semantic.DeepEqual(live.OwnerReferences, template.GetOwnerReferences())
}

// contains reports whether a map has all entries of another one.
func contains(all, some map[string]string) bool {
	for key, value := range some {
		if found, is := all[key]; !is || found != value {
			return false
		}
	}
	return true
}

// attempts is how often a write that meets another writer is repeated at once. After that, the pass fails for the namespace,
// and is retried with a delay.
const attempts = 5

// put makes the copy in a namespace correct. live is the copy in the cache, or nil. digest is that of the template. The cache
// can be older than the server. So after a conflict, and if the copy exists although the cache does not have it, put reads the
// copy and decides again.
func (c *copies[T]) put(
	ctx context.Context, d *v1beta1.ResourceDistribution, template T, digest [sha256.Size]byte, namespace string, live *seen,
) *failure {
	var failed *failure
	for range attempts {
		switch {
		case live == nil:
			failed = c.create(ctx, d, template, namespace)
		case right(live, template, digest):
			return nil
		default:
			failed = c.update(ctx, d, template, live)
		}
		switch {
		case failed == nil:
			return nil
		// These errors say that live is out of date. Any other one ends the attempts.
		case apierrors.IsAlreadyExists(failed.err), apierrors.IsConflict(failed.err), live != nil && apierrors.IsNotFound(failed.err):
		default:
			return failed
		}
		if live, failed = c.read(ctx, d, namespace, template.GetName()); failed != nil {
			return failed
		}
	}
	return failed
}

// read returns the copy on the server, or nil if it does not exist. An object of the same name that this ResourceDistribution
// does not control is a conflict. It is never changed (case 6).
func (c *copies[T]) read(ctx context.Context, d *v1beta1.ResourceDistribution, namespace, name string) (*seen, *failure) {
	object, err := c.client(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, &failure{v1beta1.ResourceDistributionGetResourceFailed, err}
	case !metav1.IsControlledBy(object, d):
		_, watched := object.GetLabels()[pub.DistributedCopyKey]
		return nil, c.conflict(namespace, name, watched)
	}
	// The same form as in the cache, so that right can compare it.
	reduced, err := reduce(object)
	live, ok := reduced.(*seen)
	if err != nil || !ok {
		return nil, &failure{v1beta1.ResourceDistributionGetResourceFailed, fmt.Errorf("read %T: %w", object, err)}
	}
	return live, nil
}

// inTheWay returns the conflict with the copy of another ResourceDistribution in a namespace, or nil if the cache has none. It costs no
// request.
func (c *copies[T]) inTheWay(d *v1beta1.ResourceDistribution, namespace, name string) *failure {
	item, found, _ := c.cached.GetByKey(cache.NewObjectName(namespace, name).String()) // The cache returns no error.
	if other, ok := item.(*seen); !found || !ok || metav1.IsControlledBy(other, d) {
		return nil
	}
	return c.conflict(namespace, name, true)
}

// conflictError says that an object of others is in the place of a copy. watched is true if that object is a copy too, so that the cache
// shows when it is gone.
type conflictError struct {
	error
	watched bool
}

// conflict returns the failure of a namespace in which an object of others has the name of the copy.
func (c *copies[T]) conflict(namespace, name string, watched bool) *failure {
	return &failure{v1beta1.ResourceDistributionConflictOccurred, conflictError{fmt.Errorf("conflict with existing resources of same "+
		"namespace, group, version, kind, name: %s %s/%s does not belong to this ResourceDistribution; delete it or exclude the namespace",
		c.resource, namespace, name), watched}}
}

// create creates the copy in a namespace. If the namespace is being deleted or does not exist, the failure says so, and the
// next event of the namespace starts another pass.
func (c *copies[T]) create(ctx context.Context, d *v1beta1.ResourceDistribution, template T, namespace string) *failure {
	object, err := with(template, template)
	if err != nil {
		return &failure{v1beta1.ResourceDistributionCreateResourceFailed, err}
	}
	// with has made a copy, because several namespaces are written at the same time.
	object.SetNamespace(namespace)
	created, err := c.client(namespace).Create(ctx, object, metav1.CreateOptions{})
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err):
		return &failure{v1beta1.ResourceDistributionNamespaceNotExists, errNamespace}
	case err != nil:
		return &failure{v1beta1.ResourceDistributionCreateResourceFailed, err}
	}
	c.guard.Wrote(d.UID, c.resource, created.GetResourceVersion())
	return nil
}

// update changes a copy, unless another client has changed it since: the metadata of live contains its resource version.
func (c *copies[T]) update(ctx context.Context, d *v1beta1.ResourceDistribution, template T, live *seen) *failure {
	object, err := with(template, live)
	if err != nil {
		return &failure{v1beta1.ResourceDistributionUpdateResourceFailed, err}
	}
	merge(object, template)
	updated, err := c.client(live.Namespace).Update(ctx, object, metav1.UpdateOptions{})
	if err != nil {
		return &failure{v1beta1.ResourceDistributionUpdateResourceFailed, err}
	}
	c.guard.Wrote(d.UID, c.resource, updated.GetResourceVersion())
	return nil
}

// with returns the content of the template with other metadata, as a new object.
func with[T controller.Object](template T, metadata metav1.Object) (T, error) {
	object, ok := template.DeepCopyObject().(T)
	if !ok {
		return object, fmt.Errorf("deep copy of %T has another type", template)
	}
	overwrite(object, metadata)
	return object, nil
}

// remove deletes a copy. A copy that is already gone, or that was replaced by an object with another UID, is no failure.
func (c *copies[T]) remove(ctx context.Context, d *v1beta1.ResourceDistribution, live *seen) *failure {
	err := c.client(live.Namespace).Delete(ctx, live.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(live.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return &failure{v1beta1.ResourceDistributionDeleteResourceFailed, err}
	}
	c.guard.Deleted(d.UID, c.resource, live)
	return nil
}

// errNamespace is the text of the condition NamespaceNotExists.
var errNamespace = errors.New("namespace not found or is terminating")
