//go:build e2e

package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

// refuseNewPods makes kube-apiserver answer each creation of a Pod in the test's namespace with 500, as if a webhook with the
// failure policy Fail were unavailable. The returned function ends this.
func (e *env) refuseNewPods() (allow func()) {
	e.t.Helper()
	webhooks := e.core.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := webhooks.Create(e.t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "away.example.com", SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			FailurePolicy: ptr.To(admissionv1.Fail),
			ClientConfig:  admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: e.namespace, Name: "away"}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				corev1.LabelMetadataName: e.namespace,
			}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}, metav1.CreateOptions{})
	require.NoError(e.t, err)
	allow = func() {
		_ = webhooks.Delete(context.WithoutCancel(e.t.Context()), e.namespace, metav1.DeleteOptions{})
	}
	e.t.Cleanup(allow)
	e.eventually("creations are refused", func(c *require.Assertions, ctx context.Context) {
		_, err := e.core.CoreV1().Pods(e.namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "kruise.local/demo:v1"}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		c.ErrorContains(err, "failed calling webhook")
	})
	return allow
}

// TestFailingCreationsDoNotBlockOtherWork answers each creation with 500. Pods are still updated in place and put back
// into service, the status reports the error, and a new template is rolled out. When creations work again, the missing Pods are
// created.
func TestFailingCreationsDoNotBlockOtherWork(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "maxUnavailable: 1", "maxUnavailable: 100%\n    inPlaceUpdateStrategy: {gracePeriodSeconds: 2}"))
	e.ready("web", 3)
	before := byUID(e.pods("web"))
	allow := e.refuseNewPods()
	e.kubectl("scale", "cloneset", "web", "--replicas=4")
	for _, image := range []string{"demo:v2", "demo:v1"} {
		e.image("web", "kruise.local/"+image)
		e.eventually("every Pod runs "+image+" and serves", func(c *require.Assertions, ctx context.Context) {
			set, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Get(ctx, "web", metav1.GetOptions{})
			c.NoError(err)
			c.Equal(set.Generation, set.Status.ObservedGeneration)
			c.Equal(int32(3), set.Status.UpdatedAvailableReplicas)
			c.NotEmpty(set.Status.Conditions)
			c.EqualValues("FailedScale", set.Status.Conditions[0].Type)
			c.Contains(set.Status.Conditions[0].Message, "failed calling webhook")
		})
	}
	for uid := range byUID(e.pods("web")) {
		assert.Contains(t, before, uid, "the same Pods")
	}
	allow()
	e.ready("web", 4)
	assert.Empty(t, e.cloneSet("web").Status.Conditions)
}

// finishedUpdatesInAnOutage has a namespace whose new Pods need an answer of kruise-apiserver. No Pod is created meanwhile. In-place
// updates that are in progress complete, and their Pods serve again.
func finishedUpdatesInAnOutage(t *testing.T, o *outage) {
	e := newEnv(t)
	e.kubectl("label", "namespace", e.namespace, "admission.kruise.io/pod-failure-policy=Fail")
	e.apply(manifest("other", "replicas: 3", "replicas: 1"))
	e.ready("other", 1)
	e.budget("apps.kruise.io/v1alpha1", "CloneSet", "other", "maxUnavailable: 1", 1)
	e.apply(manifest("web", "maxUnavailable: 1", "maxUnavailable: 100%\n    inPlaceUpdateStrategy: {gracePeriodSeconds: 30}"))
	e.ready("web", 3)
	before := byUID(e.pods("web"))
	o.prepared(t) // The outage must begin before the grace period of the Pods has passed.
	e.image("web", "kruise.local/demo:v2")
	e.eventually("every Pod waits for its grace period", func(c *require.Assertions, _ context.Context) {
		for _, pod := range e.pods("web") {
			c.Contains(pod.Annotations, pub.InPlaceUpdateGraceKey)
		}
	})
	o.begin(t)
	lost := e.pods("web")[0].Name
	e.kubectl("delete", "pod", lost, "--wait=true")
	e.eventually("the Pods that are left run the new image and serve", func(c *require.Assertions, _ context.Context) {
		pods := e.pods("web")
		c.Len(pods, 2, "nothing is created meanwhile")
		for _, pod := range pods {
			_, same := before[string(pod.UID)]
			c.True(same, pod.Name)
			c.Equal("kruise.local/demo:v2", pod.Spec.Containers[0].Image)
			c.True(podstate.Ready(&pod), pod.Name)
		}
	})
	e.eventually("an event tells of the refused creation", func(c *require.Assertions, _ context.Context) {
		c.Contains(e.kubectl("events", "--types=Warning"), "failed calling webhook")
	})
	o.end(t)
	e.ready("web", 3)
}

// TestScaleInPurgesVolumesAndLossKeepsThem checks that the claims of a Pod that scaling deletes are deleted with it, and that
// the claims of a lost Pod are mounted by its replacement.
// Case cloneset 21.
func TestScaleInPurgesVolumesAndLossKeepsThem(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.apply(manifest("web", "  template:", "  volumeClaimTemplates:\n  - metadata: {name: data}\n"+
		"    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n  template:"))
	e.ready("web", 3)
	claims := func() map[string]string {
		list, err := e.core.CoreV1().PersistentVolumeClaims(e.namespace).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		uids := map[string]string{}
		for _, claim := range list.Items {
			uids[claim.Name] = string(claim.UID)
		}
		return uids
	}
	all := claims()
	require.Len(t, all, 3)
	lost := e.pods("web")[0].Name
	e.kubectl("delete", "pod", lost, "--wait=true")
	e.ready("web", 3)
	assert.Equal(t, all, claims(), "the replacement mounts the claim of the Pod that was lost")
	names := map[string]bool{}
	for _, pod := range e.pods("web") {
		names[pod.Name] = true
	}
	assert.True(t, names[lost])

	e.kubectl("scale", "cloneset", "web", "--replicas=1")
	e.ready("web", 1)
	e.eventually("the claims of deleted Pods are gone", func(c *require.Assertions, _ context.Context) { c.Len(claims(), 1) })
	e.kubectl("scale", "cloneset", "web", "--replicas=3")
	e.ready("web", 3)
	fresh := 0
	for name, uid := range claims() {
		if all[name] != uid {
			fresh++
		}
	}
	assert.Equal(t, 2, fresh, "new Pods have new claims")
}
