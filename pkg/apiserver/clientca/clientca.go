package clientca

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// kube-apiserver publishes in this ConfigMap how it authenticates clients and its own proxy.
const (
	configMap = "extension-apiserver-authentication"
	key       = "client-ca-file"
)

// FromCluster returns the client CA of the cluster, or nil if the cluster has none. A ConfigMap without the key also
// means none: the cluster does not use client certificates. The provider follows later changes of the ConfigMap.
func FromCluster(ctx context.Context, client kubernetes.Interface) (dynamiccertificates.CAContentProvider, error) {
	found, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, configMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up the cluster's authentication: %w", err)
	}
	if found.Data[key] == "" {
		return nil, nil
	}
	provider, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", metav1.NamespaceSystem, configMap, key, client)
	if err != nil {
		return nil, fmt.Errorf("watch the cluster's client CA: %w", err)
	}
	return provider, nil
}

// WaitFor returns a provider that makes the server wait until each of the parts has content. After patience, the
// server starts with what it has, for example if the host cluster does not answer. all must combine the parts.
func WaitFor(
	all dynamiccertificates.CAContentProvider, patience time.Duration, parts ...dynamiccertificates.CAContentProvider,
) dynamiccertificates.CAContentProvider {
	waiting := &waiting{CAContentProvider: all, patience: patience, parts: parts, changed: make(chan struct{}, 1)}
	for _, part := range parts {
		part.AddListener(waiting)
	}
	return waiting
}

// waiting listens to its parts, and counts on the generic server to call RunOnce before it listens.
type waiting struct {
	dynamiccertificates.CAContentProvider
	patience time.Duration
	parts    []dynamiccertificates.CAContentProvider
	// changed has room for one signal, so Enqueue never blocks.
	changed chan struct{}
}

var _ dynamiccertificates.ControllerRunner = &waiting{}

// Enqueue implements dynamiccertificates.Listener.
func (w *waiting) Enqueue() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// RunOnce starts the parts and waits for them. The server calls it before it listens. An error stops the start; a
// timeout does not.
func (w *waiting) RunOnce(ctx context.Context) error {
	runner, ok := w.CAContentProvider.(dynamiccertificates.ControllerRunner)
	if !ok {
		return nil
	}
	if err := runner.RunOnce(ctx); err != nil {
		return err
	}
	// From now on, changes of the parts are followed for as long as the server runs.
	go runner.Run(ctx, 1)
	timeout := time.NewTimer(w.patience)
	defer timeout.Stop()
	for !w.complete() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout.C:
			klog.FromContext(ctx).Info("Timed out waiting for the client CAs, serving with those that are loaded", "patience", w.patience)
			return nil
		case <-w.changed:
		}
	}
	return nil
}

// Run does nothing, because RunOnce has started the parts.
func (*waiting) Run(context.Context, int) {}

// complete returns true if every part has loaded at least one valid certificate.
func (w *waiting) complete() bool {
	for _, part := range w.parts {
		if _, ok := part.VerifyOptions(); !ok {
			return false
		}
	}
	return true
}
