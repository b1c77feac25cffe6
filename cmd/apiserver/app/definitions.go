package app

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"kruise.io/kruise/pkg/apiserver"
)

// automanaged is the label of the APIServices that kube-apiserver creates for CustomResourceDefinitions. It writes their spec back.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// lookForDefinitions starts reportDefinitions. It returns at once.
func lookForDefinitions(ctx context.Context, options *Options, config *apiserver.Config) error {
	kube, services, err := hostClients(config)
	if err != nil {
		return err
	}
	go reportDefinitions(ctx, options, kube, services)
	return nil
}

// reportDefinitions says in the log and in an event if CustomResourceDefinitions serve the kinds of this server, so that it gets no
// request. The chart refuses such a cluster, but a manifest cannot. It reports once, after the start. A server that waits for a
// take-over expects CustomResourceDefinitions.
func reportDefinitions(ctx context.Context, options *Options, kube kubernetes.Interface, services clientset.Interface) {
	if options.Store.AwaitTakeover {
		return
	}
	message, err := servedByDefinitions(ctx, services, apiserver.APIServices(options.Gates.Kruise))
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to find out whether CustomResourceDefinitions serve Kruise kinds")
	}
	if message == "" {
		return
	}
	klog.FromContext(ctx).Error(nil, "This server gets no request", "problem", message)
	now := metav1.Now()
	_, err = kube.CoreV1().Events(options.Certificates.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: options.Store.ConfigMap + ".", Namespace: options.Certificates.Namespace},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "ConfigMap", Namespace: options.Certificates.Namespace, Name: options.Store.ConfigMap,
		},
		Type: corev1.EventTypeWarning, Reason: "ServedByDefinitions", Message: message,
		Source: corev1.EventSource{Component: "kruise-apiserver"}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to write an event", "reason", "ServedByDefinitions")
	}
}

// servedByDefinitions returns what is wrong and what to do, or an empty string if no CustomResourceDefinition serves one of the versions.
func servedByDefinitions(ctx context.Context, services clientset.Interface, names []string) (string, error) {
	var taken []string
	for _, name := range names {
		service, err := services.ApiregistrationV1().APIServices().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("read APIService %s: %w", name, err)
		}
		if service.Spec.Service == nil || service.Labels[automanaged] != "" {
			taken = append(taken, name)
		}
	}
	if len(taken) == 0 {
		return "", nil
	}
	return fmt.Sprintf("CustomResourceDefinitions serve %s, so OpenKruise is installed; no object is lost, but this installation has "+
		"replaced roles and webhooks of it: repair OpenKruise, and move the objects, as docs/user/coming-from-openkruise.md says",
		strings.Join(taken, ", ")), nil
}
