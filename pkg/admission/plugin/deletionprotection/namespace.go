package deletionprotection

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// pageSize is how many objects one list request reads. It is small, because one active Pod is enough for the answer,
// and a namespace in use usually has one in its first page.
const pageSize = 100

// unfinished selects Pods that have not completed, including Pending and Unknown Pods. The server filters by it, so
// completed Pods of Jobs do not fill the pages.
const unfinished = "status.phase!=Succeeded,status.phase!=Failed"

// podsAndClaims looks for active Pods first, and then for bound claims. A claim counts only if it is bound: deleting
// it may delete the data of its volume. Errors of a list are reasons to refuse, because the contents are then
// unknown.
func podsAndClaims(ctx context.Context, p *Plugin, object runtime.Object) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return fmt.Sprintf(", list pods error: %v", err)
	}
	namespace := accessor.GetName()
	// A Pod that terminates already does not count: the deletion of the namespace changes nothing for it.
	pods, err := count(func(options metav1.ListOptions) ([]corev1.Pod, string, error) {
		options.FieldSelector = unfinished
		list, err := p.Host.CoreV1().Pods(namespace).List(ctx, options)
		if err != nil {
			return nil, "", err
		}
		return list.Items, list.Continue, nil
	}, func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	})
	if err != nil {
		return fmt.Sprintf(", list pods error: %v", err)
	}
	if pods > 0 {
		return fmt.Sprintf(" and active pods %d>0", pods)
	}
	// The phase of a claim is no field selector, so the claims are filtered here.
	claims, err := count(func(options metav1.ListOptions) ([]corev1.PersistentVolumeClaim, string, error) {
		list, err := p.Host.CoreV1().PersistentVolumeClaims(namespace).List(ctx, options)
		if err != nil {
			return nil, "", err
		}
		return list.Items, list.Continue, nil
	}, func(claim *corev1.PersistentVolumeClaim) bool {
		return claim.DeletionTimestamp == nil && claim.Status.Phase == corev1.ClaimBound
	})
	if err != nil {
		return fmt.Sprintf(", list pvc error: %v", err)
	}
	if claims > 0 {
		return fmt.Sprintf(" and \"Bound\" status pvc %d>0", claims)
	}
	return ""
}

// count reads pages until one contains a counted object, and returns how many that page contains. So the number in a
// message is a lower bound. One object is enough to refuse, so a namespace with ten thousand Pods is not read
// completely. An expired continue token is an error of the list, and the user retries.
func count[T any](list func(metav1.ListOptions) (items []T, next string, err error), counts func(*T) bool) (int, error) {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		items, next, err := list(options)
		if err != nil {
			return 0, err
		}
		found := 0
		for i := range items {
			if counts(&items[i]) {
				found++
			}
		}
		if found > 0 || next == "" {
			return found, nil
		}
		options.Continue = next
	}
}
