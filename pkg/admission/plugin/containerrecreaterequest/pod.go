package containerrecreaterequest

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// pod returns the Pod, or the problem that prevents a restart of its containers. Exactly one of the three results is
// set: the problem is for the user, the error is for a failed read.
func (p *Plugin) pod(ctx context.Context, namespace, name string) (*corev1.Pod, *field.Error, error) {
	path := field.NewPath("spec", "podName")
	missing := field.Invalid(path, name, fmt.Sprintf("no found Pod named %s in namespace %s", name, namespace))
	// Such a name would change the path of the request. The Pod cannot exist, so the answer is the one for a missing
	// Pod.
	if len(content.IsPathSegmentName(name)) > 0 {
		return nil, missing, nil
	}
	pod, err := p.Host.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, missing, nil
	case err != nil:
		return nil, nil, apierrors.NewInternalError(fmt.Errorf("get Pod %s: %w", name, err))
	case inactive(pod):
		return nil, field.Invalid(path, name, "not allowed to recreate containers in an inactive Pod: it has ended or is being deleted"), nil
	case pod.Spec.NodeName == "":
		return nil, field.Invalid(path, name, "not allowed to recreate containers in a pending Pod; wait until it is on a node"), nil
	}
	return pod, nil, nil
}

// inactive returns true if the containers of the Pod would not start again. A Pod whose sidecars are being terminated
// counts as active: its phase already shows the result of the main containers, but the sidecars still run. The
// controller jobsidecarterminator sets the condition.
func inactive(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == pub.SidecarTerminatedConditionType {
			return false
		}
	}
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// node returns the node of the Pod, or the problem that it does not exist. If the node does not exist, no agent can
// carry out the request. Its labels say whether it is a virtual node.
func (p *Plugin) node(ctx context.Context, pod *corev1.Pod) (*corev1.Node, *field.Error, error) {
	name := pod.Spec.NodeName
	node, err := p.Host.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, field.Invalid(field.NewPath("spec", "podName"), pod.Name,
			fmt.Sprintf("failed to get Node %s of the Pod: it does not exist", name)), nil
	case err != nil:
		return nil, nil, apierrors.NewInternalError(fmt.Errorf("get Node %s: %w", name, err))
	}
	return node, nil, nil
}

// label sets the labels that select the request. It overwrites values of the user, because the node label decides
// which agent carries out the request and may write its status (see the plugin NodeScope). The virtual kubelet
// selects its requests by the node type.
func label(request *apps.ContainerRecreateRequest, pod *corev1.Pod, node *corev1.Node) {
	if request.Labels == nil {
		request.Labels = map[string]string{}
	}
	request.Labels[pub.ContainerRecreateRequestPodUIDKey] = string(pod.UID)
	request.Labels[pub.ContainerRecreateRequestNodeNameKey] = pod.Spec.NodeName
	request.Labels[pub.ContainerRecreateRequestActiveKey] = "true"
	if node.Labels[pub.NodeTypeKey] == pub.NodeTypeVirtualKubelet {
		request.Labels[pub.NodeTypeKey] = pub.NodeTypeVirtualKubelet
	}
}
