//go:build e2e

package e2e

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/workload/podstate"
)

const (
	protection         = "policy.kruise.io/delete-protection"
	forbiddenAlways    = "forbidden by ResourcesProtectionDeletion for " + protection + "=Always"
	forbiddenCascading = "forbidden by ResourcesProtectionDeletion for " + protection + "=Cascading"
)

// protect labels an object, and removes the label at the end of the test.
func (e *env) protect(resource, name, value string) {
	e.t.Helper()
	e.kubectl("label", resource, name, protection+"="+value, "--overwrite")
	e.t.Cleanup(func() {
		_ = e.command(context.WithoutCancel(e.t.Context()), "label", resource, name, protection+"-").Run()
	})
}

// The Pods of a CloneSet protect their namespace. The number of replicas protects the CloneSet.
// Cases deletion-protection 2, 3, 4, 5.
func TestPodsAndReplicasProtectANamespace(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web"))
	e.ready("web", 3)
	e.protect("namespace", e.namespace, "Cascading")
	e.protect("cloneset", "web", "Cascading")
	assert.Contains(t, e.refused("", "delete", "namespace", e.namespace), forbiddenCascading+" and active pods 3>0")
	assert.Contains(t, e.refused("", "delete", "cloneset", "web", "--force", "--grace-period=0"), forbiddenCascading+" and replicas 3>0")
	assert.Contains(t, e.refused("", "delete", "cloneset", "--all", "--cascade=orphan"), forbiddenCascading+" and replicas 3>0")
	e.kubectl("scale", "cloneset", "web", "--replicas=0")
	e.kubectl("delete", "cloneset", "web")
	e.eventually("the namespace goes once its Pods are on their way", func(c *require.Assertions, ctx context.Context) {
		out, err := e.command(ctx, "delete", "namespace", e.namespace, "--wait=false").CombinedOutput()
		c.NoError(err, "%s", out)
	})
}

const dolls = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: dolls.NAME.example.com, labels: {policy.kruise.io/delete-protection: Cascading}}
spec:
  group: NAME.example.com
  scope: Namespaced
  names: {plural: dolls, kind: Doll}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// This needs permission to list every API group, which the local cluster grants.
// Cases deletion-protection 10, 11.
func TestCustomResourcesProtectADefinition(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	group := e.namespace + ".example.com"
	definition := "dolls." + group
	e.apply(strings.ReplaceAll(dolls, "NAME", e.namespace))
	t.Cleanup(func() {
		for _, args := range [][]string{{"label", "customresourcedefinition", definition, protection + "-"}, {"delete", "customresourcedefinition", definition}} {
			_ = e.command(context.WithoutCancel(t.Context()), args...).Run()
		}
	})
	e.eventually("a custom resource", func(c *require.Assertions, ctx context.Context) {
		command := e.command(ctx, "apply", "-f", "-")
		command.Stdin = strings.NewReader("apiVersion: " + group + "/v1\nkind: Doll\nmetadata: {name: one}\n")
		out, err := command.CombinedOutput()
		c.NoError(err, "%s", out)
	})
	assert.Contains(t, e.refused("", "delete", "customresourcedefinition", definition), forbiddenCascading+" and active CRs 1>0")
	e.kubectl("delete", definition, "one")
	e.kubectl("delete", "customresourcedefinition", definition)
}

// TestExampleIsProtectedAndGoesWithItsNamespace applies the example and deletes its namespace.
// Cases deletion-protection 12, 20.
func TestExampleIsProtectedAndGoesWithItsNamespace(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	text, err := os.ReadFile("../../artifacts/examples/deletion-protection.yaml")
	require.NoError(t, err)
	example := strings.Replace(string(text), "kind: Namespace\nmetadata:\n  name: protected", "kind: Namespace\nmetadata:\n  name: "+e.namespace, 1)
	e.apply(example)
	e.ready("protected", 2)
	for resource, want := range map[string]string{"service": forbiddenAlways, "cloneset": forbiddenCascading + " and replicas 2>0"} {
		assert.Contains(t, e.refused("", "delete", resource, "protected"), want)
	}
	assert.Contains(t, e.refused("", "delete", "namespace", e.namespace), " and active pods 2>0")
	e.kubectl("label", "namespace", e.namespace, protection+"-")
	e.kubectl("delete", "namespace", e.namespace, "--timeout=3m")
}

// reviewed asks for the deletion of a namespace that only the webhook can answer, and returns whether the webhook answered.
func (e *env) reviewed(ctx context.Context) (bool, error) {
	err := e.core.CoreV1().Namespaces().Delete(ctx, e.namespace, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "active pods"), err
}

// protectionInAnOutage checks which deletions are still rejected and which wait.
func protectionInAnOutage(t *testing.T, o *outage) {
	always, cascading, unlabelled := newEnv(t), newEnv(t), newEnv(t)
	e := always
	always.protect("namespace", always.namespace, "Always")
	cascading.protect("namespace", cascading.namespace, "Cascading")
	cascading.kubectl("run", "web", "--image=kruise.local/demo:v1", "--image-pull-policy=IfNotPresent")
	e.kubectl("create", "deployment", "web", "--image=kruise.local/demo:v1", "--replicas=1")
	e.protect("deployment", "web", "Cascading")
	e.kubectl("create", "service", "clusterip", "web", "--tcp=80")
	e.protect("service", "web", "Always")

	o.begin(t)
	e.eventually("reviews fail", func(c *require.Assertions, ctx context.Context) {
		reviewed, err := cascading.reviewed(ctx)
		c.False(reviewed)
		c.Error(err)
	})
	assert.Contains(t, e.refused("", "delete", "namespace", always.namespace), forbiddenAlways)
	assert.Contains(t, e.refused("", "delete", "service", "web"), forbiddenAlways)
	assert.Contains(t, e.refused("", "delete", "deployment", "web"), forbiddenCascading+" and replicas 1>0")
	assert.Contains(t, e.refused("", "delete", "namespace", cascading.namespace), `failed calling webhook "vnamespace.kb.io"`)
	e.kubectl("delete", "namespace", unlabelled.namespace, "--wait=false")
	e.kubectl("--namespace="+cascading.namespace, "delete", "pod", "web", "--wait=false")
	e.kubectl("label", "namespace", cascading.namespace, protection+"-")
	e.kubectl("delete", "namespace", cascading.namespace, "--wait=false")

	o.end(t)
	for _, gone := range []*env{unlabelled, cascading} {
		e.eventually("the namespaces go", func(c *require.Assertions, ctx context.Context) {
			_, err := e.core.CoreV1().Namespaces().Get(ctx, gone.namespace, metav1.GetOptions{})
			c.True(apierrors.IsNotFound(err), "%v", err)
		})
	}
}

// TestFirstReviewAfterARestart logs how long kube-apiserver's reviews fail after the new Pod is Ready, with the machine idle and
// with every core busy. Reviews must be answered again each time.
func TestFirstReviewAfterARestart(t *testing.T) {
	e := newEnv(t)
	e.kubectl("run", "web", "--image=kruise.local/demo:v1", "--image-pull-policy=IfNotPresent")
	e.protect("namespace", e.namespace, "Cascading")
	e.eventually("reviews are answered", func(c *require.Assertions, ctx context.Context) {
		reviewed, err := e.reviewed(ctx)
		c.True(reviewed, "%v", err)
	})
	for _, busy := range []int{0, 4} {
		stop := burnCores(t.Context(), busy)
		ready, first := e.replaceAPIServer()
		stop()
		t.Logf("%d busy loops: the first review was answered %v after the Pod was Ready", busy, first.Sub(ready).Round(time.Millisecond))
	}
}

// replaceAPIServer replaces the apiserver's Pod. It returns when the new Pod was seen Ready and when a review was answered
// again.
func (e *env) replaceAPIServer() (ready, first time.Time) {
	e.t.Helper()
	pods := e.core.CoreV1().Pods("kruise-system")
	selector := metav1.ListOptions{LabelSelector: "control-plane=apiserver"}
	var list *corev1.PodList
	e.eventually("one Pod of the apiserver is left", func(c *require.Assertions, ctx context.Context) {
		var err error
		list, err = pods.List(ctx, selector)
		c.NoError(err)
		c.Len(list.Items, 1)
	})
	old := list.Items[0]
	selector.ResourceVersion = list.ResourceVersion
	ctx, cancel := context.WithTimeout(e.t.Context(), patience)
	defer cancel()
	watch, err := pods.Watch(ctx, selector)
	require.NoError(e.t, err)
	defer watch.Stop()
	require.NoError(e.t, pods.Delete(ctx, old.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](1)}))
	var group sync.WaitGroup
	group.Go(func() {
		for event := range watch.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if ok && pod.UID != old.UID && podstate.Ready(pod) {
				ready = time.Now()
				return
			}
		}
	})
	// The new Pod may answer reviews before the old one has ended, so reviews may never fail.
	e.eventually("the old Pod has ended", func(c *require.Assertions, ctx context.Context) {
		_, err := pods.Get(ctx, old.Name, metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err), "%v", err)
	})
	for ctx.Err() == nil {
		if reviewed, _ := e.reviewed(ctx); reviewed {
			first = time.Now()
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	group.Wait()
	require.False(e.t, ready.IsZero(), "the new Pod is Ready")
	require.False(e.t, first.IsZero(), "reviews are answered again")
	return ready, first
}

// burnCores keeps n threads busy until the returned function is called.
func burnCores(ctx context.Context, n int) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	for range n {
		go func() {
			for ctx.Err() == nil { // Busy on purpose.
			}
		}()
	}
	return stop
}
