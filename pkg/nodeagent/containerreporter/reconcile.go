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
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/reconcile"
)

const (
	// writeTimeout is how long to wait for the watch to show our own write. After it, the cache is believed again.
	writeTimeout = 30 * time.Second
	// environmentRetry is the delay before an unreadable environment is read again.
	environmentRetry = 3 * time.Second
)

// write records our last write to a Pod: the resourceVersion that it got, and when.
type write struct {
	version string
	at      time.Time
}

// reconcile writes the report of one Pod. It does nothing if the cached report is current. The runtime is asked
// before every write, because the status of the Pod can be older than the containers.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	r := c.get(key)
	if r == nil || !r.outdated(c.config.Environment) {
		return reconcile.Result{}, nil
	}
	if wait := c.unseen(key, r); wait > 0 {
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
	if c.config.Environment && r.held {
		c.restarts.Add(key)
	}
	if !known {
		return reconcile.Result{RequeueAfter: environmentRetry}, nil
	}
	return reconcile.Result{}, nil
}

// unseen returns how long to wait for the watch to show our last write, or zero. Deciding on older data would repeat the write.
func (c *Controller) unseen(key types.NamespacedName, r *knownPod) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, found := c.lastWrite[key]
	if !found {
		return 0
	}
	if newer, err := resourceversion.CompareResourceVersion(last.version, r.ResourceVersion); err == nil && newer > 0 {
		if wait := writeTimeout - c.config.Clock.Since(last.at); wait > 0 {
			return wait
		}
	}
	delete(c.lastWrite, key)
	return 0
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastWrite[key] = write{version: pod.ResourceVersion, at: c.config.Clock.Now()}
	return nil
}
