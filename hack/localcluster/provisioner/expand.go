package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// retryPeriod is how often a claim whose expansion failed is tried again.
const retryPeriod = 10 * time.Second

// provisionedBy is the annotation of a volume that names its provisioner.
const provisionedBy = "pv.kubernetes.io/provisioned-by"

// expander gives claims the storage that they request. A volume is a folder, so only the objects change. kube-apiserver lets users
// increase the request of a claim only if its StorageClass allows it.
type expander struct {
	client kubernetes.Interface
	name   string
}

// run expands claims until the context ends. It returns at once. The resync of the informer repeats failed
// expansions.
func (e *expander) run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(e.client, retryPeriod)
	_, err := factory.Core().V1().PersistentVolumeClaims().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) {
			if claim, ok := object.(*corev1.PersistentVolumeClaim); ok {
				if err := e.expand(ctx, claim); err != nil {
					fmt.Fprintln(os.Stderr, "provisioner:", err)
				}
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch claims: %w", err)
	}
	factory.Start(ctx.Done())
	return nil
}

// expand sets the capacity of a claim's volume, and then that of the claim, to the requested storage. If it fails
// between the two, the next call repeats both.
func (e *expander) expand(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	wanted := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if claim.Status.Phase != corev1.ClaimBound || wanted.Cmp(*claim.Status.Capacity.Storage()) <= 0 {
		return nil
	}
	volume, err := e.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil || volume.Annotations[provisionedBy] != e.name {
		return ignoreGone(err, "expand claim %s: read its volume: %w", claim.Name)
	}
	_, err = e.client.CoreV1().PersistentVolumes().Patch(ctx, volume.Name, types.StrategicMergePatchType,
		capacity("spec", wanted), metav1.PatchOptions{})
	if err != nil {
		return ignoreGone(err, "expand claim %s: change its volume: %w", claim.Name)
	}
	_, err = e.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.StrategicMergePatchType,
		capacity("status", wanted), metav1.PatchOptions{}, "status")
	return ignoreGone(err, "expand claim %s: report its capacity: %w", claim.Name)
}

// capacity returns a patch that sets the storage in the part of an object.
func capacity(part string, storage resource.Quantity) []byte {
	return fmt.Appendf(nil, `{%q: {"capacity": {"storage": %q}}}`, part, storage.String())
}

// ignoreGone wraps an error, unless the object was deleted.
func ignoreGone(err error, format, name string) error {
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf(format, name, err)
}
