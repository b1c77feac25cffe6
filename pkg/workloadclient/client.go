package workloadclient

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/workload/kinds"
)

// Clients reach the two servers: that of the cluster, and that of this project.
type Clients struct {
	Kube   kubernetes.Interface
	Kruise versioned.Interface
}

// Get returns the workload as the server answers, in the version that the table of kinds names. The error is that of the server.
func (c Clients) Get(ctx context.Context, kind schema.GroupKind, namespace, name string) (kinds.Object, error) {
	// Callers ask only for kinds of the table, so this error is a fault of the program.
	read, known := readers[kind]
	if !known {
		return nil, fmt.Errorf("%s is not in the table of workload kinds", kind)
	}
	return read(ctx, c, namespace, name)
}

// reader reads one workload of a kind.
type reader func(ctx context.Context, c Clients, namespace, name string) (kinds.Object, error)

// readers has one reader for each workload kind of the table. A test compares the two.
var readers = map[schema.GroupKind]reader{
	kinds.ReplicationController: by(func(c Clients, namespace string) getter[*corev1.ReplicationController] {
		return c.Kube.CoreV1().ReplicationControllers(namespace)
	}),
	kinds.ReplicaSet: by(func(c Clients, namespace string) getter[*appsv1.ReplicaSet] {
		return c.Kube.AppsV1().ReplicaSets(namespace)
	}),
	kinds.Deployment: by(func(c Clients, namespace string) getter[*appsv1.Deployment] {
		return c.Kube.AppsV1().Deployments(namespace)
	}),
	kinds.StatefulSet: by(func(c Clients, namespace string) getter[*appsv1.StatefulSet] {
		return c.Kube.AppsV1().StatefulSets(namespace)
	}),
	kinds.DaemonSet: by(func(c Clients, namespace string) getter[*appsv1.DaemonSet] {
		return c.Kube.AppsV1().DaemonSets(namespace)
	}),
	kinds.Job: by(func(c Clients, namespace string) getter[*batchv1.Job] {
		return c.Kube.BatchV1().Jobs(namespace)
	}),
	kinds.CloneSet: by(func(c Clients, namespace string) getter[*v1beta1.CloneSet] {
		return c.Kruise.AppsV1beta1().CloneSets(namespace)
	}),
	kinds.AdvancedStatefulSet: by(func(c Clients, namespace string) getter[*v1beta1.StatefulSet] {
		return c.Kruise.AppsV1beta1().StatefulSets(namespace)
	}),
	kinds.AdvancedDaemonSet: by(func(c Clients, namespace string) getter[*v1beta1.DaemonSet] {
		return c.Kruise.AppsV1beta1().DaemonSets(namespace)
	}),
	kinds.BroadcastJob: by(func(c Clients, namespace string) getter[*v1beta1.BroadcastJob] {
		return c.Kruise.AppsV1beta1().BroadcastJobs(namespace)
	}),
	kinds.UnitedDeployment: by(func(c Clients, namespace string) getter[*v1beta1.UnitedDeployment] {
		return c.Kruise.AppsV1beta1().UnitedDeployments(namespace)
	}),
}

// getter is the part of a typed client that reads.
type getter[T kinds.Object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
}

// by returns the reader of a kind from its typed client. An object is returned only without an error, because a nil pointer in
// an interface is not nil.
func by[T kinds.Object](client func(Clients, string) getter[T]) reader {
	return func(ctx context.Context, c Clients, namespace, name string) (kinds.Object, error) {
		found, err := client(c, namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return found, nil
	}
}
