package containerreporter

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/reconcile"
)

// environmentRetry is the delay before an unreadable environment is read again.
const environmentRetry = 3 * time.Second

// reconcile writes the report of one Pod. It does nothing if the cached report is current. The runtime is asked
// before every write, because the status of the Pod can be older than the containers.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	r := c.get(key)
	if r == nil || !r.outdated(c.config.Environment) {
		return reconcile.Result{}, nil
	}
	// Deciding before the watch shows our last write would repeat the write.
	if wait := c.written.Unseen(r); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	report, known, err := c.report(ctx, r)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !reflect.DeepEqual(report, r.report) {
		if err := c.write(ctx, key, r, report); err != nil {
			return reconcile.Result{}, err
		}
	}
	// The report is written first, because restart decides by it.
	if r.held && (c.config.Environment || r.restarts()) {
		c.restarts.Add(key)
	}
	if !known {
		return reconcile.Result{RequeueAfter: environmentRetry}, nil
	}
	return reconcile.Result{}, nil
}

// write replaces the report. The UID in the patch makes sure that the Pod is still the same. No other client writes
// the report, so the patch needs no resourceVersion.
func (c *Controller) write(ctx context.Context, key types.NamespacedName, r *knownPod, report *containerreport.Report) error {
	text, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": r.UID, "annotations": map[string]string{pub.RuntimeContainerMetaKey: string(text)},
	}})
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	pod, err := c.config.Client.Pods(key.Namespace).Patch(ctx, key.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // The Pod is gone, or another Pod has its name.
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	klog.FromContext(ctx).V(4).Info("Reported", "report", string(text))
	c.written.Wrote(pod)
	return nil
}
