package fuzzer

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/pub"
)

var containerRecreateRequest = []any{
	fuzzContainerRecreateRequestSpec, fuzzContainerRecreateRequestStatus, fuzzV1alpha1ContainerRecreateRequest,
}

// fuzzContainerRecreateRequestSpec fills what a decoder fills.
func fuzzContainerRecreateRequestSpec(spec *apps.ContainerRecreateRequestSpec, c randfill.Continue) {
	c.FillNoCustom(spec)
	if spec.Strategy == nil {
		spec.Strategy = &apps.ContainerRecreateRequestStrategy{}
	}
	if spec.Strategy.FailurePolicy == "" {
		spec.Strategy.FailurePolicy = apps.FailContainerRecreateRequestFailurePolicy
	}
}

// fuzzContainerRecreateRequestStatus has the one condition that v1alpha1 can say, in half of all
// cases.
func fuzzContainerRecreateRequestStatus(status *apps.ContainerRecreateRequestStatus, c randfill.Continue) {
	c.FillNoCustom(status)
	if c.Bool() {
		condition := metav1.Condition{
			Type:   apps.ContainerRecreateRequestConditionPreRecreateGrace,
			Reason: apps.ContainerRecreateRequestConditionPreRecreateGrace,
			Status: metav1.ConditionTrue,
		}
		c.Fill(&condition.LastTransitionTime)
		status.Conditions = []metav1.Condition{condition}
	}
}

// fuzzV1alpha1ContainerRecreateRequest adds the annotations that the hub has in its status. Texts
// that are no values are dropped, so there are none here.
func fuzzV1alpha1ContainerRecreateRequest(request *v1alpha1.ContainerRecreateRequest, c randfill.Continue) {
	c.FillNoCustom(request)
	if c.Bool() {
		request.Annotations = put(request.Annotations, pub.ContainerRecreateRequestSyncContainerStatusesKey,
			`[{"name":"app","ready":true,"restartCount":`+strconv.Itoa(c.Intn(5))+`,"containerID":"containerd://a"}]`)
	}
	if c.Bool() {
		request.Annotations = put(request.Annotations, pub.ContainerRecreateRequestUnreadyAcquiredKey, "2026-01-02T03:04:05Z")
	}
}
