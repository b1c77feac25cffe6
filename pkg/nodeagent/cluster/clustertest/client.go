// Package clustertest builds the cluster client of the node agent on fake clientsets. It owns no behaviour. Enter at New.
package clustertest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/nodeagent/cluster"
)

// Client is a cluster.Interface on fake clientsets. A clientset that the test does not use may be nil.
type Client struct {
	kube   *kubefake.Clientset
	kruise *fake.Clientset
}

// New makes a client.
func New(kube *kubefake.Clientset, kruise *fake.Clientset) *Client { return &Client{kube, kruise} }

// IsWatchListSemanticsUnSupported makes informers list before they watch, as ListerWatcher asks the client for it.
// The trackers of the fake clientsets do not send the existing objects at the start of a watch.
func (c *Client) IsWatchListSemanticsUnSupported() bool { return true }

// Pods implements cluster.Interface.
func (c *Client) Pods(namespace string) cluster.Pods { return c.kube.CoreV1().Pods(namespace) }

// Nodes implements cluster.Interface.
func (c *Client) Nodes() cluster.Nodes { return c.kube.CoreV1().Nodes() }

// Events implements cluster.Interface.
func (c *Client) Events(namespace string) cluster.Events { return c.kube.CoreV1().Events(namespace) }

// NodeImages implements cluster.Interface.
func (c *Client) NodeImages() cluster.NodeImages { return c.kruise.AppsV1beta1().NodeImages() }

// NodePodProbes implements cluster.Interface.
func (c *Client) NodePodProbes() cluster.NodePodProbes {
	return c.kruise.AppsV1alpha1().NodePodProbes()
}

// ContainerRecreateRequests implements cluster.Interface.
func (c *Client) ContainerRecreateRequests(namespace string) cluster.ContainerRecreateRequests {
	return c.kruise.AppsV1beta1().ContainerRecreateRequests(namespace)
}

// PullSecrets implements cluster.Interface.
func (c *Client) PullSecrets(ctx context.Context, node string) (*corev1.SecretList, error) {
	return c.kruise.AppsV1beta1().NodeImages().GetPullSecrets(ctx, node, metav1.GetOptions{})
}
