package chart

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/disruption"
)

// podRequest is a request of kube-apiserver for a Pod. Without the new Pod, it is a deletion.
func podRequest(before, after *corev1.Pod) *admission.VersionedAttributes {
	kind, resource := corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithResource("pods")
	if after == nil {
		return deletionOf(before, kind, resource, "alice", &metav1.DeleteOptions{})
	}
	return &admission.VersionedAttributes{
		Attributes: admission.NewAttributesRecord(after, before, kind, "ns", "x", resource, "", admission.Update, &metav1.UpdateOptions{}, false,
			&user.DefaultInfo{Name: "alice"}),
		VersionedOldObject: before, VersionedObject: after, VersionedKind: kind,
	}
}

// askedByPods returns the webhooks that ask about a request for a Pod.
func askedByPods(t *testing.T, all objects, request *admission.VersionedAttributes) (names []string) {
	t.Helper()
	for _, webhook := range read[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration", webhooks).Webhooks {
		if webhook.Name != "vpod.kb.io" && webhook.Name != "spread.vpod.kb.io" {
			continue
		}
		reviews := false
		for _, rule := range webhook.Rules {
			for _, operation := range rule.Operations {
				reviews = reviews || admission.Operation(operation) == request.GetOperation()
			}
		}
		if !reviews {
			continue
		}
		result := conditionsOf(webhook.Name, webhook.MatchConditions, webhook.FailurePolicy).Match(t.Context(), request, nil, nil)
		require.NoError(t, result.Error)
		if result.Matches {
			names = append(names, webhook.Name)
		}
	}
	return names
}

// governedPod returns a ready Pod with a budget.
func governedPod(edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns", Annotations: map[string]string{pub.RelatedPubKey: "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "demo:v1"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: true}},
		},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func spreadPod(pod *corev1.Pod) { pod.Annotations[pub.MatchedWorkloadSpreadKey] = "{}" }

// deletionsOfPods are Pods, and whether a budget can refuse their deletion.
var deletionsOfPods = map[string]struct {
	edit    func(*corev1.Pod)
	limited bool
}{
	"ready":               {func(*corev1.Pod) {}, true},
	"protected":           {func(pod *corev1.Pod) { pod.Annotations[pub.PubNoProtectKey] = "false" }, true},
	"an unreadable value": {func(pod *corev1.Pod) { pod.Annotations[pub.PubNoProtectKey] = "yes" }, true},
	"labelled":            {func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "web"} }, true},
	"not protected":       {func(pod *corev1.Pod) { pod.Annotations[pub.PubNoProtectKey] = "true" }, false},
	"not protected, 1":    {func(pod *corev1.Pod) { pod.Annotations[pub.PubNoProtectKey] = "1" }, false},
	"on a lost node":      {func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }, false},
	"on a silent node":    {func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionUnknown }, false},
	"without a status":    {func(pod *corev1.Pod) { pod.Status = corev1.PodStatus{} }, false},
	"pending":             {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending }, false},
	"failed":              {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }, false},
	"succeeded":           {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }, false},
	"terminating":         {func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }, false},
	"out of service":      {func(pod *corev1.Pod) { pod.Labels = map[string]string{pub.UnavailablePodKeyPrefix + "x": ""} }, false},
}

// Case podunavailablebudget 5a.
// A deletion that every budget allows does not depend on the apiserver. Its Pod returns its slot in a WorkloadSpread all the same.
func TestDeletionsThatNoBudgetLimitsAreNotReviewed(t *testing.T) {
	all := render(t)
	for name, test := range deletionsOfPods {
		t.Run(name, func(t *testing.T) {
			pod := governedPod(test.edit)
			var want []string
			if test.limited {
				want = []string{"vpod.kb.io"}
			}
			assert.Equal(t, want, askedByPods(t, all, podRequest(pod, nil)))
			assert.Equal(t, !test.limited, disruption.Exempt(&disruption.Request{Operation: v1beta1.PubDeleteOperation, Pod: pod}),
				"the apiserver decides in the same way")

			spreadPod(pod)
			if !test.limited && pod.DeletionTimestamp == nil {
				want = []string{"spread.vpod.kb.io"}
			}
			assert.Equal(t, want, askedByPods(t, all, podRequest(pod, nil)))
			pod.Annotations = map[string]string{pub.MatchedWorkloadSpreadKey: "{}"}
			if pod.DeletionTimestamp == nil {
				want = []string{"spread.vpod.kb.io"}
			}
			assert.Equal(t, want, askedByPods(t, all, podRequest(pod, nil)), "without a budget")
		})
	}
}

// Case podunavailablebudget 9a.
// An update that changes only metadata does not depend on the apiserver, except for the label that takes a Pod out of service.
func TestUpdatesThatAreReviewed(t *testing.T) {
	all := render(t, "--set-string", "featureGates=PodUnavailableBudgetUpdateGate=true")
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"an image":       {func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "demo:v2" }, true},
		"out of service": {func(pod *corev1.Pod) { pod.Labels = map[string]string{pub.UnavailablePodKeyPrefix + "x": ""} }, true},
		"a label":        {func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "web"} }, false},
		"an annotation":  {func(pod *corev1.Pod) { pod.Annotations["a"] = "b" }, false},
		"no protection":  {func(pod *corev1.Pod) { pod.Annotations[pub.PubNoProtectKey] = "true" }, false},
		"no budget":      {func(pod *corev1.Pod) { pod.Annotations = nil }, false},
		"a finalizer":    {func(pod *corev1.Pod) { pod.Finalizers = []string{"a/b"} }, false},
		"an owner":       {func(pod *corev1.Pod) { pod.OwnerReferences = []metav1.OwnerReference{{Name: "o"}} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			if test.want {
				want = []string{"vpod.kb.io"}
			}
			assert.Equal(t, want, askedByPods(t, all, podRequest(governedPod(), governedPod(test.change))))
		})
	}
	assert.Empty(t, askedByPods(t, all, podRequest(governedPod(deletionsOfPods["on a lost node"].edit), governedPod())))
	assert.Equal(t, []string{"vpod.kb.io"}, askedByPods(t, all, podRequest(governedPod(), nil)))
}
