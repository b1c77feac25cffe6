package imagepulljob

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/podstate"
)

// choose returns the NodeImages that a job selects, in the order in which it asks them: the order in the spec, the update order of
// the workload that owns the job, or by name. The order is stable, so the next pass asks the same nodes after an answer was lost. An
// error can be a selector that cannot be parsed.
func (r *Reconciler) choose(job *v1beta1.ImagePullJob) ([]*v1beta1.NodeImage, error) {
	selector := job.Spec.Selector
	switch {
	case job.Spec.PodSelector != nil:
		nodes, err := r.nodesOfPods(job)
		if err != nil {
			return nil, err
		}
		return r.named(nodes)
	case selector != nil && len(selector.Names) > 0:
		return r.named(selector.Names)
	}
	// A job without any selector selects all nodes.
	matches := labels.Everything()
	if selector != nil {
		var err error
		if matches, err = metav1.LabelSelectorAsSelector(&selector.LabelSelector); err != nil {
			return nil, fmt.Errorf("spec.selector: %w", err)
		}
	}
	// NodeImages carry the labels of their nodes, so nodes are not read.
	chosen, err := r.images.List(matches)
	if err != nil {
		return nil, fmt.Errorf("list NodeImages: %w", err)
	}
	slices.SortFunc(chosen, func(a, b *v1beta1.NodeImage) int { return cmp.Compare(a.Name, b.Name) })
	return chosen, nil
}

// named returns the NodeImages of the nodes. It skips nodes without a NodeImage. Such a node can get one later, and an event of it
// reconciles the job then.
func (r *Reconciler) named(names []string) ([]*v1beta1.NodeImage, error) {
	chosen := make([]*v1beta1.NodeImage, 0, len(names))
	for _, name := range names {
		image, err := r.images.Get(name)
		switch {
		case err == nil:
			chosen = append(chosen, image)
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("get NodeImage %s: %w", name, err)
		}
	}
	return chosen, nil
}

// nodesOfPods returns the nodes that run Pods which the job selects, without duplicates. A Pod that has ended or has no node needs no
// image now. The first Pod of a node decides its place in the order.
func (r *Reconciler) nodesOfPods(job *v1beta1.ImagePullJob) ([]string, error) {
	selector, err := metav1.LabelSelectorAsSelector(&job.Spec.PodSelector.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("spec.podSelector: %w", err)
	}
	all, err := r.selected(job.Namespace, selector)
	if err != nil {
		return nil, err
	}
	placed := slices.DeleteFunc(all, func(pod *corev1.Pod) bool { return !podstate.Active(pod) || pod.Spec.NodeName == "" })
	ordered, err := r.orders.order(job, placed)
	if err != nil {
		return nil, err
	}
	var nodes []string
	seen := map[string]bool{}
	for _, pod := range ordered {
		if !seen[pod.Spec.NodeName] {
			seen[pod.Spec.NodeName] = true
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	return nodes, nil
}

// orders holds the caches of the workload kinds that have an update order.
type orders map[schema.GroupKind]cache.Indexer

// newOrders asks for the informers of these kinds, so the controller starts when their APIs are served.
func newOrders(deps controller.Deps) orders {
	o := orders{}
	for kind, informer := range controller.Workloads(deps, func(kind *kinds.Kind) bool { return kind.UpdateOrder != nil }) {
		o[kind] = informer.Informer().GetIndexer()
	}
	return o
}

// order sorts Pods in the update order of the workload that owns the job. Without such a workload, Pods are sorted by node name. Pods
// that are updated first need the new image first.
func (o orders) order(job *v1beta1.ImagePullJob, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Spec.NodeName, b.Spec.NodeName), cmp.Compare(a.Name, b.Name))
	})
	kind := kinds.OfController(job)
	if kind == nil || o[kind.GroupKind] == nil {
		return pods, nil
	}
	item, _, err := o[kind.GroupKind].GetByKey(job.Namespace + "/" + metav1.GetControllerOfNoCopy(job).Name)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", kind.Kind, err)
	}
	// A workload that is deleted, or not in the cache yet, is nil.
	workload, _ := item.(kinds.Object)
	return kind.UpdateOrder(workload, pods)
}
