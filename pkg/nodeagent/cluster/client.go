package cluster

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Interface lists the API requests that the node agent makes. The agent's role in the chart grants no others. Tests
// implement it with fake clientsets (clustertest).
type Interface interface {
	Pods(namespace string) Pods
	Nodes() Nodes
	Events(namespace string) Events
	NodeImages() NodeImages
	NodePodProbes() NodePodProbes
	ContainerRecreateRequests(namespace string) ContainerRecreateRequests
	// PullSecrets returns the existing Secrets among those that the NodeImage of the node names.
	PullSecrets(ctx context.Context, node string) (*corev1.SecretList, error)
}

// Source lists and watches one kind. An informer caches the objects.
type Source[L any] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Pods reads and patches the Pods of one namespace, or of all namespaces.
type Pods interface {
	Source[*corev1.PodList]
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Pod, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions,
		subresources ...string) (*corev1.Pod, error)
}

// Nodes reads Nodes.
type Nodes interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Node, error)
}

// Events writes the Events of one namespace.
type Events interface {
	Create(ctx context.Context, event *corev1.Event, options metav1.CreateOptions) (*corev1.Event, error)
	Update(ctx context.Context, event *corev1.Event, options metav1.UpdateOptions) (*corev1.Event, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions,
		subresources ...string) (*corev1.Event, error)
}

// NodeImages reads NodeImages. The API server lets an agent see only the NodeImage of its own node.
type NodeImages interface {
	Source[*v1beta1.NodeImageList]
	UpdateStatus(ctx context.Context, image *v1beta1.NodeImage, options metav1.UpdateOptions) (*v1beta1.NodeImage, error)
}

// NodePodProbes reads NodePodProbes and patches their statuses. The API server lets an agent see only the NodePodProbe of its own
// node.
type NodePodProbes interface {
	Source[*v1alpha1.NodePodProbeList]
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions,
		subresources ...string) (*v1alpha1.NodePodProbe, error)
}

// ContainerRecreateRequests accesses the requests of one namespace, or of all namespaces. There is no Get, because
// the API server authorizes agents for lists of their own node only.
type ContainerRecreateRequests interface {
	Source[*v1beta1.ContainerRecreateRequestList]
	UpdateStatus(ctx context.Context, request *v1beta1.ContainerRecreateRequest, options metav1.UpdateOptions) (
		*v1beta1.ContainerRecreateRequest, error)
}

// Client sends requests to the API server. Core kinds and Kruise kinds have separate rate limits.
type Client struct {
	// apps and appsAlpha are the two versions of the Kruise group. They share a rate limit as far as appsConfig sets
	// a limiter.
	core, apps, appsAlpha rest.Interface
}

// New creates a client of the API at config. It makes no request. The rate limits in config apply to core kinds,
// those in appsConfig to Kruise kinds. Both groups share their connections.
func New(config, appsConfig *rest.Config) (*Client, error) {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	core, err := clientFor(config, transport, "/api", corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	apps, err := clientFor(appsConfig, transport, "/apis", v1beta1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	appsAlpha, err := clientFor(appsConfig, transport, "/apis", v1alpha1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	return &Client{core: core, apps: apps, appsAlpha: appsAlpha}, nil
}

// clientFor creates a client for one group version. transport is shared, so all clients use the same connections.
func clientFor(config *rest.Config, transport *http.Client, path string, version schema.GroupVersion) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion, config.NegotiatedSerializer = path, &version, codecs.WithoutConversion()
	client, err := rest.RESTClientForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("create client for %s: %w", version, err)
	}
	return client, nil
}

// Pods implements Interface.
func (c *Client) Pods(namespace string) Pods {
	return &resource[corev1.Pod, corev1.PodList, *corev1.Pod, *corev1.PodList]{c.core, "pods", namespace}
}

// Nodes implements Interface.
func (c *Client) Nodes() Nodes {
	return &resource[corev1.Node, corev1.NodeList, *corev1.Node, *corev1.NodeList]{c.core, "nodes", ""}
}

// Events implements Interface.
func (c *Client) Events(namespace string) Events {
	return &resource[corev1.Event, corev1.EventList, *corev1.Event, *corev1.EventList]{c.core, "events", namespace}
}

// NodeImages implements Interface.
func (c *Client) NodeImages() NodeImages {
	return &resource[v1beta1.NodeImage, v1beta1.NodeImageList, *v1beta1.NodeImage, *v1beta1.NodeImageList]{c.apps, "nodeimages", ""}
}

// NodePodProbes implements Interface.
func (c *Client) NodePodProbes() NodePodProbes {
	return &resource[v1alpha1.NodePodProbe, v1alpha1.NodePodProbeList, *v1alpha1.NodePodProbe, *v1alpha1.NodePodProbeList]{
		c.appsAlpha, "nodepodprobes", "",
	}
}

// ContainerRecreateRequests implements Interface.
func (c *Client) ContainerRecreateRequests(namespace string) ContainerRecreateRequests {
	return &resource[v1beta1.ContainerRecreateRequest, v1beta1.ContainerRecreateRequestList,
		*v1beta1.ContainerRecreateRequest, *v1beta1.ContainerRecreateRequestList]{c.apps, "containerrecreaterequests", namespace}
}

// PullSecrets implements Interface. It is a subresource of the NodeImage, because agents have no permission to read
// Secrets.
func (c *Client) PullSecrets(ctx context.Context, node string) (*corev1.SecretList, error) {
	secrets := &corev1.SecretList{}
	return secrets, c.apps.Get().Resource("nodeimages").Name(node).SubResource("pullsecrets").Do(ctx).Into(secrets)
}
