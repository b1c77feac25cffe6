package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/scheme"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/kubectl/workload"
)

// Cluster has the clients of a command, and the namespace that its user chose.
type Cluster struct {
	Core      kubernetes.Interface
	Kruise    versioned.Interface
	Dynamic   dynamic.Interface
	Namespace string
	// Explicit is true if the user named the namespace.
	Explicit bool

	// factory builds requests for the arguments of a command. It is nil after ForConfig, so One cannot be called
	// then.
	factory cmdutil.Factory
}

// New returns the clients of a command, with the namespace of its flags or its kubeconfig. It sends no request.
func New(factory cmdutil.Factory) (*Cluster, error) {
	config, err := factory.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	c, err := ForConfig(config)
	if err != nil {
		return nil, err
	}
	c.factory = factory
	c.Namespace, c.Explicit, err = factory.ToRawKubeConfigLoader().Namespace()
	return c, err
}

// ForConfig returns clients without a namespace. It changes the content type of config.
func ForConfig(config *rest.Config) (c *Cluster, err error) {
	// What a user sees with -v=8 must be readable.
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	c = &Cluster{}
	if c.Core, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.Kruise, err = versioned.NewForConfig(config); err != nil {
		return nil, err
	}
	c.Dynamic, err = dynamic.NewForConfig(config)
	return c, err
}

// One reads the one object that arguments such as TYPE/NAME or TYPE NAME name. The object has the version that the
// server prefers; callers read workloads again by Workload.
func (c *Cluster) One(args []string) (*resource.Info, error) {
	infos, err := c.factory.NewBuilder().
		WithScheme(scheme.Scheme, scheme.Scheme.PrioritizedVersionsAllGroups()...).
		NamespaceParam(c.Namespace).DefaultNamespace().ResourceTypeOrNameArgs(false, args...).
		SingleResourceType().Latest().Flatten().Do().Infos()
	switch {
	case err != nil:
		return nil, err
	case len(infos) != 1:
		return nil, fmt.Errorf("%d objects are named: name one, as TYPE/NAME", len(infos))
	}
	return infos[0], nil
}

// Resource returns the resource of a row in the version in which objects are stored.
func Resource(row *workload.Kind) schema.GroupVersionResource {
	return v1beta1.SchemeGroupVersion.WithResource(row.Resource)
}

// Workload reads a workload in the version in which objects are stored. The errors are those of the server.
func (c *Cluster) Workload(ctx context.Context, row *workload.Kind, namespace, name string) (*workload.Workload, error) {
	object, err := c.Dynamic.Resource(Resource(row)).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return workload.Of(object)
}

// Pods returns the Pods that a workload controls, sorted by name. The selector limits the list; the owner decides,
// because other workloads can select the same Pods.
func (c *Cluster) Pods(ctx context.Context, w *workload.Workload) ([]*corev1.Pod, error) {
	selector, err := w.LabelSelector()
	if err != nil {
		return nil, err
	}
	list, err := c.Core.CoreV1().Pods(w.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("list Pods of %s %s: %w", w.Title, w.GetName(), err)
	}
	var owned []*corev1.Pod
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], w) {
			owned = append(owned, &list.Items[i])
		}
	}
	slices.SortFunc(owned, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return owned, nil
}

// Revisions returns the revisions that a workload owns, the oldest first. The last one is the newest.
func (c *Cluster) Revisions(ctx context.Context, w *workload.Workload) ([]*appsv1.ControllerRevision, error) {
	return Revisions(ctx, c.Core, w)
}

// Revisions returns the revisions that a workload owns, the oldest first.
func Revisions(ctx context.Context, core kubernetes.Interface, w *workload.Workload) ([]*appsv1.ControllerRevision, error) {
	selector, err := w.LabelSelector()
	if err != nil {
		return nil, err
	}
	list, err := core.AppsV1().ControllerRevisions(w.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("list revisions of %s %s: %w", w.Title, w.GetName(), err)
	}
	var owned []*appsv1.ControllerRevision
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], w) {
			owned = append(owned, &list.Items[i])
		}
	}
	slices.SortStableFunc(owned, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return owned, nil
}

// Claims returns the claims that a Pod mounts, in the order of its volumes. Claims that do not exist are left out,
// because a Pod that waits for one is also shown.
func (c *Cluster) Claims(ctx context.Context, pod *corev1.Pod) ([]*corev1.PersistentVolumeClaim, error) {
	var claims []*corev1.PersistentVolumeClaim
	for i := range pod.Spec.Volumes {
		source := pod.Spec.Volumes[i].PersistentVolumeClaim
		if source == nil {
			continue
		}
		claim, err := c.Core.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(ctx, source.ClaimName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get claim %s: %w", source.ClaimName, err)
		}
		claims = append(claims, claim)
	}
	return claims, nil
}

// Warnings returns the messages of the warnings about an object that happened after a time, the newest first. The zero time
// selects all. The UID selects the events, so those of an earlier object of the same name are left out.
func (c *Cluster) Warnings(ctx context.Context, object metav1.Object, after time.Time) ([]string, error) {
	list, err := c.Core.CoreV1().Events(object.GetNamespace()).List(ctx,
		metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(object.GetUID())})
	if err != nil {
		return nil, fmt.Errorf("list events of %s: %w", object.GetName(), err)
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return latest(&b).Compare(latest(&a).Time) })
	var warnings []string
	for i := range list.Items {
		event := &list.Items[i]
		if event.Type == corev1.EventTypeWarning && (after.IsZero() || latest(event).After(after)) {
			warnings = append(warnings, event.Reason+": "+event.Message)
		}
	}
	return warnings, nil
}

// latest returns when an event happened last. Which field says so depends on the API by which it was recorded.
func latest(event *corev1.Event) metav1.Time {
	if event.Series != nil {
		return metav1.NewTime(event.Series.LastObservedTime.Time)
	}
	if !event.LastTimestamp.IsZero() {
		return event.LastTimestamp
	}
	return metav1.NewTime(event.EventTime.Time)
}
