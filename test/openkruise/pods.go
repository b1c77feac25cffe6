package openkruise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Crowd creates, changes, evicts and deletes Pods, one after the other. No node takes them.
type Crowd struct {
	// Stop ends it. Writes and Refused may be read after it.
	Stop func()
	// Writes counts all of them. Refused says when which one failed, and why.
	Writes  int
	Refused []string
}

// NewCrowd starts a crowd in a namespace.
func NewCrowd(ctx context.Context, client kubernetes.Interface, namespace string) *Crowd {
	c, done := &Crowd{}, make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	c.Stop = sync.OnceFunc(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			c.round(ctx, client, namespace, i%2 == 0)
		}
	}()
	return c
}

func (c *Crowd) round(ctx context.Context, client kubernetes.Interface, namespace string, evict bool) {
	note := func(what string, err error) bool {
		if c.Writes++; err != nil && ctx.Err() == nil {
			c.Refused = append(c.Refused, fmt.Sprintf("%s %s: %v", time.Now().Format(time.TimeOnly), what, err))
		}
		return err == nil
	}
	pods := client.CoreV1().Pods(namespace)
	pod, err := pods.Create(ctx, PendingPod(), metav1.CreateOptions{})
	if !note("create", err) {
		return
	}
	_, err = pods.Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	note("patch", err)
	if evict {
		note("evict", pods.EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: namespace}}))
	} else {
		note("delete", pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}))
	}
}

// PendingPod returns a Pod that no node takes.
func PendingPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crowd-"},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"none": "none"}, Containers: []corev1.Container{{Name: "main", Image: "none"}},
		},
	}
}

// Answers returns an error unless a manager of OpenKruise has seen a new Pod.
func Answers(ctx context.Context, client kubernetes.Interface, namespace string) error {
	pod, err := client.CoreV1().Pods(namespace).Create(ctx, PendingPod(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil && pod.Annotations[SeenAnnotation] != "true" {
		return errors.New("no manager has seen the Pod")
	}
	return err
}
