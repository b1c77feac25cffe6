//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	distributionManifest = `
apiVersion: GROUP
kind: ResourceDistribution
metadata: {name: bench}
spec:
  resource:
    apiVersion: v1
    kind: Secret
    metadata: {name: bench-copy}
    type: Opaque
    stringData: {token: "1"}
  targets:
    namespaceSelector: {matchLabels: {bench: "true"}}
`
	// otherSecret is the size of each Secret that nobody distributes, in bytes.
	otherSecret = 1024
)

// measureDistributions measures a ResourceDistribution to many namespaces, beside Secrets that it does not concern.
func measureDistributions(ctx context.Context, config *rest.Config, core kubernetes.Interface, shape fleetShape) (err error) {
	f, end, err := newFleet(ctx, config, core)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, end(context.WithoutCancel(ctx))) }()
	if err := f.measureIdle(ctx); err != nil {
		return err
	}
	if err := f.besideSecrets(ctx, shape.secrets); err != nil {
		return err
	}
	return f.distribute(ctx, shape.namespaces)
}

// besideSecrets prints how the live heap of the controller grows by Secrets that it does not concern.
func (f *fleet) besideSecrets(ctx context.Context, secrets int) (err error) {
	before, err := f.process.Heap(ctx)
	if err != nil {
		return err
	}
	namespace, err := f.core.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	defer func() {
		err = joined(err, f.removeNamespaces(context.WithoutCancel(ctx), metav1.ListOptions{FieldSelector: "metadata.name=" + namespace.Name}))
	}()
	data := map[string]string{"content": strings.Repeat("x", otherSecret)}
	err = each(0, secrets, func(i int) error {
		_, err := f.core.CoreV1().Secrets(namespace.Name).Create(ctx,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("other-%05d", i)}, StringData: data}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("create Secrets: %w", err)
	}
	if err := pause(ctx, calmFor); err != nil {
		return err
	}
	after, err := f.process.Heap(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("live heap of the controller: %.1f MiB, %.1f MiB beside %d Secrets of others\n",
		float64(before)/(1<<20), float64(after)/(1<<20), secrets)
	return nil
}

// distribute measures the copies of a Secret in many namespaces: their creation, a change, and their end.
func (f *fleet) distribute(ctx context.Context, namespaces int) (err error) {
	chosen := metav1.ListOptions{LabelSelector: "bench=true"}
	defer func() { err = joined(err, f.removeNamespaces(context.WithoutCancel(ctx), chosen)) }()
	err = each(0, namespaces, func(i int) error {
		_, err := f.core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("bench-copy-%04d", i), Labels: map[string]string{"bench": "true"},
		}}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("create namespaces: %w", err)
	}
	if err := pause(ctx, calmFor); err != nil {
		return err
	}
	ours := f.rivals[1]
	e := &entrant{fleet: f, rival: ours, pods: namespaces, object: f.dynamic.Resource(ours.gv.WithResource("resourcedistributions"))}
	_, _ = fmt.Fprintf(f.out, "Secret in %d namespaces\tcontroller\ts\tCPU ms/copy\trequests/copy\twrites/copy\t\n", namespaces)
	all := map[string]int64{"desired": int64(namespaces), "succeeded": int64(namespaces), "failed": 0}
	if err := e.step(ctx, "copied", func(ctx context.Context) error {
		if err := e.create(ctx, distributionManifest); err != nil {
			return err
		}
		return e.reached(ctx, all)
	}); err != nil {
		return err
	}
	if err := e.step(ctx, "changed", func(ctx context.Context) error {
		if err := e.patch(ctx, types.MergePatchType, `{"spec":{"resource":{"stringData":{"token":"2"}}}}`); err != nil {
			return err
		}
		return e.reached(ctx, all)
	}); err != nil {
		return err
	}
	if err := e.step(ctx, "removed", func(ctx context.Context) error {
		if err := e.object.Delete(ctx, "bench", metav1.DeleteOptions{}); err != nil {
			return err
		}
		return wait.PollUntilContextTimeout(ctx, scalePoll, scalePatience, true, func(ctx context.Context) (bool, error) {
			_, err := e.object.Get(ctx, "bench", metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return false, nil
			}
			copies, err := f.core.CoreV1().Secrets("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=bench-copy", Limit: 1})
			return err == nil && len(copies.Items) == 0, nil
		})
	}); err != nil {
		return err
	}
	return f.out.Flush()
}

// removeNamespaces deletes namespaces, and waits until they are gone.
func (f *fleet) removeNamespaces(ctx context.Context, which metav1.ListOptions) error {
	namespaces := f.core.CoreV1().Namespaces()
	list, err := namespaces.List(ctx, which)
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	err = each(0, len(list.Items), func(i int) error { return namespaces.Delete(ctx, list.Items[i].Name, metav1.DeleteOptions{}) })
	return errors.Join(err, wait.PollUntilContextTimeout(ctx, time.Second, scalePatience, true, func(ctx context.Context) (bool, error) {
		left, err := namespaces.List(ctx, which)
		return err == nil && len(left.Items) == 0, nil
	}))
}
