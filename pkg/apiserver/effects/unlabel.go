package effects

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/passes"
)

// unlabelWidth is how many namespaces are written at the same time. The first SidecarSet for all namespaces can concern thousands.
const unlabelWidth = 16

// unlabelPatch is a merge patch: null removes the label.
const unlabelPatch = `{"metadata":{"labels":{"` + pub.PodCreationKey + `":null}}}`

// Unlabel returns a function that removes the label apps.kruise.io/pod-creation of a namespace. A namespace that does not exist is no
// error.
func Unlabel(kube kubernetes.Interface) func(ctx context.Context, name string) error {
	return func(ctx context.Context, name string) error {
		_, err := kube.CoreV1().Namespaces().Patch(ctx, name, types.MergePatchType, []byte(unlabelPatch), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove label %s of namespace %s: %w", pub.PodCreationKey, name, err)
		}
		return nil
	}
}

// clear removes the label of namespaces. The controllers would do it too, but they can be away. A failure is only logged: the client is
// warned as long as a namespace has the label.
func (e *Effects) clear(ctx context.Context, ignored []*corev1.Namespace) {
	var last atomic.Pointer[error]
	_ = passes.Parallel(len(ignored), unlabelWidth, func(i int) error {
		if err := e.unlabel(ctx, ignored[i].Name); err != nil {
			last.Store(&err)
		}
		return nil
	})
	if err := last.Load(); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(*err, "New Pods of some namespaces are not sent to this server yet")
	}
}
