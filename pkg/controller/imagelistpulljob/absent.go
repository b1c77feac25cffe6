package imagelistpulljob

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/passes"
)

// absent deletes the children of a list job that no longer exists. Garbage collection deletes them too, but after an outage it can
// start much later, and until then nodes pull images that nobody wants. A list job of the same name that was created since keeps its
// children: the older ones are left to garbage collection.
func (r *Reconciler) absent(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	children, err := r.childrenOf(key)
	if err != nil || len(children) == 0 {
		return reconcile.Result{}, err
	}
	// The cache can be late, so the server is asked.
	_, err = r.kruise.AppsV1beta1().ImageListPullJobs(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		return reconcile.Result{}, nil
	case !apierrors.IsNotFound(err):
		return reconcile.Result{}, fmt.Errorf("get ImageListPullJob: %w", err)
	}
	client := r.kruise.AppsV1beta1().ImagePullJobs(key.Namespace)
	return reconcile.Result{}, passes.Parallel(len(children), passes.Width, func(i int) error {
		child, policy := children[i], metav1.DeletePropagationBackground
		// The version keeps a child that was released since, as a deletion with the policy Orphan does. After a conflict, the next
		// pass sees the child as it is.
		err := client.Delete(ctx, child.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &child.UID, ResourceVersion: &child.ResourceVersion}, PropagationPolicy: &policy,
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete ImagePullJob %s: %w", child.Name, err)
		}
		return nil
	})
}

// childrenOf returns the jobs whose controller is a list job of that name, except those that are being deleted. The UID of the list
// job is not known any more.
func (r *Reconciler) childrenOf(key types.NamespacedName) (children []*v1beta1.ImagePullJob, err error) {
	items, err := r.children.ByIndex(cache.NamespaceIndex, key.Namespace)
	if err != nil {
		return nil, fmt.Errorf("list ImagePullJobs: %w", err)
	}
	owner := controller.OwnerOf(kind.GroupKind())
	for _, item := range items {
		if child, ok := item.(*v1beta1.ImagePullJob); ok && child.DeletionTimestamp == nil && slices.Contains(owner(child), key) {
			children = append(children, child)
		}
	}
	return children, nil
}
