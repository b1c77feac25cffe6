package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	applyappsv1beta1 "kruise.io/kruise/pkg/generated/applyconfiguration/apps/v1beta1"
	typedappsv1beta1 "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
	typedpolicyv1beta1 "kruise.io/kruise/pkg/generated/clientset/versioned/typed/policy/v1beta1"
)

// fieldManager owns the fields that the example applies.
const fieldManager = "client-go-example"

type example struct {
	cloneSets   typedappsv1beta1.CloneSetInterface
	nodeImages  typedappsv1beta1.NodeImageInterface
	budgets     typedpolicyv1beta1.PodUnavailableBudgetInterface
	name, image string
	timeout     time.Duration
	out         io.Writer
}

// run does each step and prints one line about it. It deletes what it created, even if a
// step fails.
func (e *example) run(ctx context.Context) (err error) {
	list, err := e.cloneSets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	nodeImages, err := e.nodeImages.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list NodeImages, which have no namespace: %w", err)
	}
	fmt.Fprintf(e.out, "listed %d CloneSets and %d NodeImages\n", len(list.Items), len(nodeImages.Items))

	created, err := e.cloneSets.Create(ctx, e.cloneSet(), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	defer func() { err = errors.Join(err, e.delete(context.WithoutCancel(ctx))) }()
	fmt.Fprintf(e.out, "created %s with %d replicas\n", created.Name, *created.Spec.Replicas)

	budget, err := e.budgets.Create(ctx, e.budget(), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create a PodUnavailableBudget: %w", err)
	}
	fmt.Fprintf(e.out, "created a budget of %s Pods for %s\n", budget.Spec.MaxUnavailable, budget.Spec.TargetRef.Name)

	changes, err := e.cloneSets.Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", e.name).String(),
		ResourceVersion: created.ResourceVersion,
	})
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer changes.Stop()

	applied, err := e.cloneSets.Apply(ctx, e.patch(created.Namespace), metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	fmt.Fprintf(e.out, "applied minReadySeconds %d\n", applied.Spec.MinReadySeconds)

	return e.await(ctx, changes, applied.Generation)
}

func (e *example) cloneSet() *v1beta1.CloneSet {
	labels := map[string]string{"app": e.name}
	return &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Name: e.name},
		Spec: v1beta1.CloneSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: e.image, ImagePullPolicy: corev1.PullIfNotPresent}}},
			},
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{
				RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: pub.InPlaceIfPossiblePodUpdatePolicy},
			},
		},
	}
}

// budget lets one Pod of the CloneSet be unavailable at a time, in the group policy.kruise.io.
func (e *example) budget() *policyv1beta1.PodUnavailableBudget {
	one := intstr.FromInt32(1)
	return &policyv1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Name: e.name},
		Spec: policyv1beta1.PodUnavailableBudgetSpec{
			TargetRef:      &policyv1beta1.TargetReference{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "CloneSet", Name: e.name},
			MaxUnavailable: &one,
		},
	}
}

// patch names only the fields that the example wants to own.
func (e *example) patch(namespace string) *applyappsv1beta1.CloneSetApplyConfiguration {
	return applyappsv1beta1.CloneSet(e.name, namespace).
		WithSpec(applyappsv1beta1.CloneSetSpec().WithMinReadySeconds(1))
}

// await reads the watch until it shows the generation that was applied.
func (e *example) await(ctx context.Context, changes watch.Interface, generation int64) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("watch for generation %d: %w", generation, ctx.Err())
		case event, open := <-changes.ResultChan():
			if !open {
				return fmt.Errorf("watch for generation %d: the server ended it", generation)
			}
			if cloneSet, ok := event.Object.(*v1beta1.CloneSet); ok && cloneSet.Generation >= generation {
				fmt.Fprintf(e.out, "watched generation %d\n", cloneSet.Generation)
				return nil
			}
		}
	}
}

func (e *example) delete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	if err := e.budgets.Delete(ctx, e.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the PodUnavailableBudget: %w", err)
	}
	if err := e.cloneSets.Delete(ctx, e.name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	fmt.Fprintf(e.out, "deleted %s\n", e.name)
	return nil
}
