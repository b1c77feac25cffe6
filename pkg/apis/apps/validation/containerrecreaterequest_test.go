package validation_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/apis/rules/rulestest"
)

func recreateRequest() *apps.ContainerRecreateRequest {
	return &apps.ContainerRecreateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", ResourceVersion: "1", Labels: map[string]string{
			pub.ContainerRecreateRequestPodUIDKey: "u1", pub.ContainerRecreateRequestNodeNameKey: "n1",
			pub.ContainerRecreateRequestActiveKey: "true",
		}},
		Spec: apps.ContainerRecreateRequestSpec{
			PodName:    "p",
			Containers: []apps.ContainerRecreateRequestContainer{{Name: "app"}, {Name: "sidecar"}},
			Strategy:   &apps.ContainerRecreateRequestStrategy{FailurePolicy: apps.FailContainerRecreateRequestFailurePolicy},
		},
	}
}

// Cases containerrecreaterequest 4, 5, 6, 7.
func TestContainerRecreateRequestCreate(t *testing.T) {
	type spec = apps.ContainerRecreateRequestSpec
	cases := map[string]struct {
		change func(*spec)
		want   []string
	}{
		"valid":             {func(*spec) {}, nil},
		"no strategy":       {func(s *spec) { s.Strategy = nil }, nil},
		"no Pod":            {func(s *spec) { s.PodName = "" }, []string{"spec.podName: podName can not be empty"}},
		"no containers":     {func(s *spec) { s.Containers = nil }, []string{"spec.containers: containers list can not be null"}},
		"container no name": {func(s *spec) { s.Containers[1].Name = "" }, []string{"spec.containers[1].name: Required"}},
		"same twice": {
			func(s *spec) { s.Containers[1].Name = "app" }, []string{"spec.containers[1].name: can not recreate app multi times"},
		},
		"deadline 2": {
			func(s *spec) { s.ActiveDeadlineSeconds = new(int64(2)) }, []string{"spec.activeDeadlineSeconds: can not be less than 3s"},
		},
		"deadline 3":   {func(s *spec) { s.ActiveDeadlineSeconds = new(int64(3)) }, nil},
		"ttl 0":        {func(s *spec) { s.TTLSecondsAfterFinished = new(int32(0)) }, nil},
		"ttl negative": {func(s *spec) { s.TTLSecondsAfterFinished = new(int32(-1)) }, []string{"spec.ttlSecondsAfterFinished: -1"}},
		"Ignore":       {func(s *spec) { s.Strategy.FailurePolicy = "Ignore" }, nil},
		"Retry": {
			func(s *spec) { s.Strategy.FailurePolicy = "Retry" }, []string{"spec.strategy.failurePolicy: unknown failurePolicy Retry"},
		},
		"termination grace": {
			func(s *spec) { s.Strategy.TerminationGracePeriodSeconds = new(int64(-1)) },
			[]string{"spec.strategy.terminationGracePeriodSeconds: terminationGracePeriodSeconds must be non-negative integer"},
		},
		"unready grace": {
			func(s *spec) { s.Strategy.UnreadyGracePeriodSeconds = new(int64(-1)) },
			[]string{"spec.strategy.unreadyGracePeriodSeconds: unreadyGracePeriodSeconds must be non-negative integer"},
		},
		"unready grace 0":  {func(s *spec) { s.Strategy.UnreadyGracePeriodSeconds = new(int64(0)) }, nil},
		"negative minimum": {func(s *spec) { s.Strategy.MinStartedSeconds = -1 }, []string{"spec.strategy.minStartedSeconds: -1"}},
		"all errors at once": {
			func(s *spec) { s.PodName, s.Containers, s.Strategy.FailurePolicy = "", nil, "X" },
			[]string{"spec.podName: ", "spec.containers: ", "spec.strategy.failurePolicy: "},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			request := recreateRequest()
			test.change(&request.Spec)
			rulestest.Errors(t, test.want, validation.ValidateContainerRecreateRequest(request))
		})
	}
}

// Case containerrecreaterequest 10.
func TestContainerRecreateRequestUpdate(t *testing.T) {
	type request = apps.ContainerRecreateRequest
	since := func(seconds int64) []metav1.Condition {
		return []metav1.Condition{{
			Type: "PreRecreateGrace", Status: metav1.ConditionTrue, Reason: "PreRecreateGrace",
			LastTransitionTime: metav1.NewTime(time.Unix(seconds, 0)),
		}}
	}
	cases := map[string]struct {
		stored, change func(*request)
		want           []string
	}{
		"nothing":            {},
		"an unrelated label": {change: func(r *request) { r.Labels["other"] = "x" }},
		"the spec": {
			change: func(r *request) { r.Spec.Strategy.OrderedRecreate = true },
			want:   []string{"spec: spec of ContainerRecreateRequest is immutable"},
		},
		"the label of the Pod": {
			change: func(r *request) { r.Labels[pub.ContainerRecreateRequestPodUIDKey] = "u2" },
			want:   []string{"metadata.labels[crr.apps.kruise.io/pod-uid]: not allowed to update immutable label crr.apps.kruise.io/pod-uid"},
		},
		"the label of the node": {
			change: func(r *request) { delete(r.Labels, pub.ContainerRecreateRequestNodeNameKey) },
			want:   []string{"metadata.labels[crr.apps.kruise.io/node-name]: not allowed to update immutable label"},
		},
		"the active label before the end": {
			change: func(r *request) { delete(r.Labels, pub.ContainerRecreateRequestActiveKey) },
			want:   []string{"metadata.labels[crr.apps.kruise.io/active]: before the request has ended"},
		},
		"the active label after it": {
			stored: func(r *request) { r.Status.CompletionTime = new(metav1.Now()) },
			change: func(r *request) { delete(r.Labels, pub.ContainerRecreateRequestActiveKey) },
		},
		"the time of the drain, first": {change: func(r *request) { r.Status.Conditions = since(1) }},
		"the time of the drain, again": {
			stored: func(r *request) { r.Status.Conditions = since(1) },
			change: func(r *request) { r.Status.Conditions = since(2) },
			want:   []string{"metadata.annotations[crr.apps.kruise.io/unready-acquired]: not allowed to update immutable annotation"},
		},
		"the time of the drain, left alone": {
			stored: func(r *request) { r.Status.Conditions = since(1) }, change: func(r *request) { r.Labels["other"] = "x" },
		},
		"the time of another condition": {
			stored: func(r *request) { r.Status.Conditions = since(1); r.Status.Conditions[0].Type = "Other" },
			change: func(r *request) { r.Status.Conditions = nil },
		},
		"a drain that is no longer": {
			stored: func(r *request) {
				r.Status.Conditions = since(1)
				r.Status.Conditions[0].Status = metav1.ConditionFalse
			},
			change: func(r *request) { r.Status.Conditions = since(2) },
		},
		"the time of the drain, away": {
			stored: func(r *request) { r.Status.Conditions = since(1) },
			change: func(r *request) { r.Status.Conditions = nil },
			want:   []string{"metadata.annotations[crr.apps.kruise.io/unready-acquired]: not allowed to update immutable annotation"},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			old := recreateRequest()
			if test.stored != nil {
				test.stored(old)
			}
			updated := old.DeepCopy()
			if test.change != nil {
				test.change(updated)
			}
			rulestest.Errors(t, test.want, validation.ValidateContainerRecreateRequestUpdate(updated, old))
		})
	}
}

func TestContainerRecreateRequestStatus(t *testing.T) {
	type status = apps.ContainerRecreateRequestStatus
	cases := map[string]struct {
		change func(*status)
		want   []string
	}{
		"empty":         {func(*status) {}, nil},
		"backwards":     {func(s *status) { s.Phase = "Pending" }, nil},
		"unknown phase": {func(s *status) { s.Phase = "Lost" }, []string{`status.phase: "Lost"`}},
		"container phase": {func(s *status) {
			s.ContainerRecreateStates = []apps.ContainerRecreateRequestContainerRecreateState{{Phase: "Lost"}}
		}, []string{`status.containerRecreateStates[0].phase: "Lost"`}},
		"condition": {func(s *status) {
			s.Conditions = []metav1.Condition{{Type: "A", Status: "Maybe", Reason: "B", LastTransitionTime: metav1.Now()}}
		}, []string{`status.conditions[0].status: "Maybe"`}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			old, updated := recreateRequest(), recreateRequest()
			old.Status.Phase = "Recreating"
			test.change(&updated.Status)
			rulestest.Errors(t, test.want, validation.ValidateContainerRecreateRequestStatusUpdate(updated, old))
			rulestest.Errors(t, nil, validation.ValidateContainerRecreateRequestStatusUpdate(updated, updated))
		})
	}
}
