package nodepodprobe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/reconcile"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/podprobe"
)

// Reconcile writes the probes of the node, and marks its Pods with the results. It deletes a NodePodProbe without a node. A
// failure of one of the two does not stop the other.
func (r *Reconciler) Reconcile(ctx context.Context, object *v1alpha1.NodePodProbe) (reconcile.Result, error) {
	if object.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	node, err := r.node(object.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	// A virtual node, or one that is being deleted, counts as deleted.
	if !present(node) {
		return reconcile.Result{}, r.remove(ctx, object)
	}
	pods, err := r.podsOn(object.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, errors.Join(r.list(ctx, object, pods), r.mark(ctx, object, pods))
}

// node returns the node with the name, or nil without an error if there is none.
func (r *Reconciler) node(name string) (*corev1.Node, error) {
	node, err := r.nodes.Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // See above.
	}
	if err != nil {
		return nil, fmt.Errorf("get Node: %w", err)
	}
	return node, nil
}

// create creates the NodePodProbe of a node that is ready. It has no probes yet: its event starts the pass that writes them. A
// NodePodProbe that exists already, because the cache is old, is no error.
func (r *Reconciler) create(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	node, err := r.node(key.Name)
	// The event of the node that becomes ready starts another attempt.
	if err != nil || !present(node) || !ready(node) {
		return reconcile.Result{}, err
	}
	klog.FromContext(ctx).V(2).Info("Creating NodePodProbe")
	_, err = r.kruise.AppsV1alpha1().NodePodProbes().Create(ctx, &v1alpha1.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: node.Name}},
		metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return reconcile.Result{}, fmt.Errorf("create NodePodProbe: %w", err)
	}
	return reconcile.Result{}, nil
}

// remove deletes the NodePodProbe of a deleted node. The UID protects that of a new node with the same name.
func (r *Reconciler) remove(ctx context.Context, object *v1alpha1.NodePodProbe) error {
	klog.FromContext(ctx).V(2).Info("Deleting NodePodProbe, because its node does not exist")
	err := r.kruise.AppsV1alpha1().NodePodProbes().Delete(ctx, object.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &object.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete NodePodProbe: %w", err)
	}
	return nil
}

// podsOn returns the Pods of a node that can be probed, by UID. A Pod that replaces another one of the same name is another Pod
// (case 14 of docs/contract/podprobemarker.md).
func (r *Reconciler) podsOn(node string) (map[types.UID]*corev1.Pod, error) {
	items, err := r.pods.ByIndex(onNodeIndex, node)
	if err != nil {
		return nil, fmt.Errorf("list Pods on the node: %w", err)
	}
	pods := make(map[types.UID]*corev1.Pod, len(items))
	for _, item := range items {
		if pod, ok := item.(*corev1.Pod); ok {
			pods[pod.UID] = pod
		}
	}
	return pods, nil
}

// list writes the probes of the Pods on the node into the spec, if they differ. No other client writes the spec, so the patch
// needs no resourceVersion: the agent may write the status meanwhile. If not all probes fit, the events about those that were
// left out follow the write, so they are not repeated while nothing changes.
func (r *Reconciler) list(ctx context.Context, object *v1alpha1.NodePodProbe, pods map[types.UID]*corev1.Pod) error {
	var entries []v1alpha1.PodProbe
	for _, pod := range pods {
		if markers := r.selecting(pod); len(markers) > 0 {
			// An entry without probes is left out by Fit.
			entries = append(entries, podprobe.Entry(pod, markers))
		}
	}
	// Fit also sorts the entries. The order of a map would differ in each pass.
	entries, removed := podprobe.Fit(entries)
	// Most passes end here: they are caused by results.
	if apiequality.Semantic.DeepEqual(object.Spec.PodProbes, entries) {
		return nil
	}
	// A nil list would be encoded as null, which removes the field.
	if entries == nil {
		entries = []v1alpha1.PodProbe{}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": object.UID}, "spec": map[string]any{"podProbes": entries},
	})
	if err != nil {
		return fmt.Errorf("encode probes: %w", err)
	}
	stored, err := r.kruise.AppsV1alpha1().NodePodProbes().Patch(ctx, object.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write probes: %w", err)
	}
	r.guard.Wrote(object.UID, resource.GroupResource(), stored.ResourceVersion)
	klog.FromContext(ctx).V(2).Info("Wrote the probes of the node", "pods", len(entries))
	for i := range removed {
		r.report(object.Name, &removed[i])
	}
	return nil
}

// report tells the PodProbeMarkers of an entry by an event that a node does not run their probes.
func (r *Reconciler) report(node string, entry *v1alpha1.PodProbe) {
	for _, name := range podprobe.Selected(entry) {
		if marker := r.marker(entry.Namespace, name); marker != nil {
			r.recorder.Eventf(marker, corev1.EventTypeWarning, "ProbesLeftOut",
				"Node %s has no room for some probes of Pod %s, because the probes of the Pod, of its namespace or of the node are too many or too "+
					"large. Use shorter commands or fewer probes.", node, entry.Name)
		}
	}
}

// marker returns a PodProbeMarker of a namespace, or nil if it does not exist.
func (r *Reconciler) marker(namespace, name string) *v1alpha1.PodProbeMarker {
	marker, err := r.markers.PodProbeMarkers(namespace).Get(name)
	if err != nil {
		return nil // The cache has no other error than NotFound.
	}
	return marker
}

// mark marks the Pods of the node with their results. A node is believed only about Pods on it, and about probes in the spec.
// The spec is the stored one, so a probe that list has just added is marked in the next pass. All Pods are tried; the errors
// are joined.
func (r *Reconciler) mark(ctx context.Context, object *v1alpha1.NodePodProbe, pods map[types.UID]*corev1.Pod) error {
	// The results by the UID of their Pod.
	results := map[string][]v1alpha1.ContainerProbeState{}
	for i := range object.Status.PodProbeStatuses {
		status := &object.Status.PodProbeStatuses[i]
		results[status.UID] = status.ProbeStates
	}
	var errs []error
	for i := range object.Spec.PodProbes {
		entry := &object.Spec.PodProbes[i]
		pod := pods[types.UID(entry.UID)]
		// A Pod without results keeps the marks that it has.
		if !running(pod, entry) || len(results[entry.UID]) == 0 {
			continue
		}
		change := podprobe.Marks(pod, entry, results[entry.UID], func(name string) *v1alpha1.PodProbeMarker {
			return r.marker(entry.Namespace, name)
		}, r.clock.Now())
		if len(change.Conflicts) > 0 {
			klog.FromContext(ctx).V(4).Info("Two probes write one condition, the first one counts", "pod", klog.KObj(pod),
				"conditions", change.Conflicts)
		}
		// A Pod that has all marks costs no request.
		if !change.Empty() {
			errs = append(errs, r.patch(ctx, object, pod, change))
		}
	}
	return errors.Join(errs...)
}

// patch writes the change of one Pod. A Pod that was deleted or replaced is no error.
func (r *Reconciler) patch(ctx context.Context, object *v1alpha1.NodePodProbe, pod *corev1.Pod, change *podprobe.Change) error {
	patch, err := change.Patch(pod)
	if err != nil {
		return err
	}
	written, err := controller.PatchPodStatus(ctx, r.kube, pod, patch)
	if err != nil || written == nil {
		return err
	}
	r.guard.Wrote(object.UID, engine.PodResource.GroupResource(), written.ResourceVersion)
	return nil
}
