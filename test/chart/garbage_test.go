package chart

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// TestDeletionsThatAreAskedAbout evaluates the match conditions as kube-apiserver does.
func TestDeletionsThatAreAskedAbout(t *testing.T) {
	webhook := read[admissionv1.ValidatingWebhookConfiguration](t, render(t), "ValidatingWebhookConfiguration", "/kruise-garbage-collection").Webhooks[0]
	matcher := conditionsOf(webhook.Name, webhook.MatchConditions, webhook.FailurePolicy)

	owned := metav1.ObjectMeta{Name: "x", Namespace: "ns", OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1"}}}
	pod, configMap := &corev1.Pod{ObjectMeta: owned}, &corev1.ConfigMap{ObjectMeta: owned}
	job := func(ttl *int32, conditions ...batchv1.JobCondition) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: owned, Spec: batchv1.JobSpec{TTLSecondsAfterFinished: ttl}, Status: batchv1.JobStatus{Conditions: conditions}}
	}
	complete := batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}
	failed := batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}
	options := func(policy metav1.DeletionPropagation) *metav1.DeleteOptions {
		return &metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: metav1.NewUIDPreconditions("u")}
	}
	foreground, background := options(metav1.DeletePropagationForeground), options(metav1.DeletePropagationBackground)
	const shared, own = "system:kube-controller-manager", "system:serviceaccount:kube-system:generic-garbage-collector"
	tests := map[string]struct {
		user    string
		object  runtime.Object
		options *metav1.DeleteOptions
		want    bool
	}{
		"a Pod":                              {own, pod, background, true},
		"a Pod, shared user":                 {shared, pod, background, true},
		"a ConfigMap, shared user":           {shared, configMap, foreground, true},
		"an eviction by taints, shared user": {shared, pod, &metav1.DeleteOptions{}, false},
		"by a user":                          {"alice", pod, background, false},
		"of nobody":                          {own, &corev1.Pod{}, background, false},
		"a complete Job, its time is over":   {shared, job(new(int32), complete), foreground, false},
		"a failed Job, its time is over":     {shared, job(new(int32), failed), foreground, false},
		"a running Job":                      {shared, job(new(int32)), foreground, true},
		"a Job that is to be kept":           {shared, job(nil, complete), foreground, true},
		"a Job that is not failed":           {shared, job(new(int32), batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionFalse}), foreground, true},
		"a complete Job, in the background":  {shared, job(new(int32), complete), background, true},
		"a complete Job, not shared":         {own, job(new(int32), complete), foreground, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kind, resource := corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithResource("pods")
			switch test.object.(type) {
			case *corev1.ConfigMap:
				kind, resource = corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithResource("configmaps")
			case *batchv1.Job:
				kind, resource = batchv1.SchemeGroupVersion.WithKind("Job"), batchv1.SchemeGroupVersion.WithResource("jobs")
			}
			result := matcher.Match(t.Context(), deletionOf(test.object, kind, resource, test.user, test.options), nil, nil)
			require.NoError(t, result.Error)
			assert.Equal(t, test.want, result.Matches, result.FailedConditionName)
		})
	}
}

func deletionOf(object runtime.Object, kind schema.GroupVersionKind, resource schema.GroupVersionResource, username string,
	options *metav1.DeleteOptions) *admission.VersionedAttributes {
	return &admission.VersionedAttributes{
		Attributes: admission.NewAttributesRecord(nil, object, kind, "ns", "x", resource, "", admission.Delete, options, false,
			&user.DefaultInfo{Name: username}),
		VersionedOldObject: object, VersionedKind: kind,
	}
}
