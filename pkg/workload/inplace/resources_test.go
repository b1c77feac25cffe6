package inplace

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"kruise.io/kruise/pkg/workload/podcontrol"
)

func list(amounts ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(amounts); i += 2 {
		l[corev1.ResourceName(amounts[i])] = resource.MustParse(amounts[i+1])
	}
	return l
}

func cpu(amount string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: list("cpu", amount)}
}

// setResources reports the resources in the spec as the node's status.
func setResources(pod *corev1.Pod) {
	for i := range pod.Spec.Containers {
		containerStatus(pod, pod.Spec.Containers[i].Name).Resources = pod.Spec.Containers[i].Resources.DeepCopy()
	}
}

// Cases inplace-update 17, 18, 19.
func TestPlanResources(t *testing.T) {
	burstable := corev1.ResourceRequirements{Requests: list("cpu", "100m", "memory", "1Gi"), Limits: list("cpu", "1", "memory", "2Gi")}
	with := func(edit func(*corev1.ResourceRequirements)) corev1.ResourceRequirements {
		r := *burstable.DeepCopy()
		edit(&r)
		return r
	}
	tests := map[string]struct {
		from, to corev1.ResourceRequirements
		want     *corev1.ResourceRequirements
	}{
		"a request of processor time": {
			burstable, with(func(r *corev1.ResourceRequirements) { r.Requests["cpu"] = resource.MustParse("200m") }),
			&corev1.ResourceRequirements{Requests: list("cpu", "200m")},
		},
		"request and limit of memory": {
			burstable, with(func(r *corev1.ResourceRequirements) {
				r.Requests["memory"], r.Limits["memory"] = resource.MustParse("2Gi"), resource.MustParse("3Gi")
			}),
			&corev1.ResourceRequirements{Requests: list("memory", "2Gi"), Limits: list("memory", "3Gi")},
		},
		"a limit that is also the request": {
			corev1.ResourceRequirements{Limits: list("cpu", "1", "memory", "1Gi")}, corev1.ResourceRequirements{Limits: list("cpu", "2", "memory", "1Gi")},
			&corev1.ResourceRequirements{Requests: list("cpu", "2"), Limits: list("cpu", "2")},
		},
		"a request that the limit already is": {
			corev1.ResourceRequirements{Limits: list("cpu", "1")}, corev1.ResourceRequirements{Limits: list("cpu", "1"), Requests: list("cpu", "1")},
			&corev1.ResourceRequirements{},
		},
		"a limit apart from the request that it was": {
			corev1.ResourceRequirements{Limits: list("cpu", "1", "memory", "1Gi")},
			corev1.ResourceRequirements{Limits: list("cpu", "2", "memory", "1Gi"), Requests: list("cpu", "1", "memory", "1Gi")}, nil,
		},
		"added":                        {corev1.ResourceRequirements{}, burstable, nil},
		"one added":                    {cpu("1"), corev1.ResourceRequirements{Requests: list("cpu", "1", "memory", "1Gi")}, nil},
		"taken away":                   {burstable, with(func(r *corev1.ResourceRequirements) { delete(r.Limits, "cpu") }), nil},
		"another resource":             {corev1.ResourceRequirements{Requests: list("ephemeral-storage", "1Gi")}, corev1.ResourceRequirements{Requests: list("ephemeral-storage", "2Gi")}, nil},
		"the same in another notation": {cpu("1000m"), cpu("1"), &corev1.ResourceRequirements{}},
		"another class of Pod":         {burstable, with(func(r *corev1.ResourceRequirements) { r.Requests = r.Limits.DeepCopy() }), nil},
		"a claim of a device":          {cpu("1"), corev1.ResourceRequirements{Requests: list("cpu", "2"), Claims: []corev1.ResourceClaim{{Name: "gpu"}}}, nil},
		"within one class alone":       {corev1.ResourceRequirements{Requests: list("cpu", "1", "memory", "1Gi"), Limits: list("cpu", "1", "memory", "1Gi")}, corev1.ResourceRequirements{Requests: list("cpu", "2", "memory", "1Gi"), Limits: list("cpu", "2", "memory", "1Gi")}, &corev1.ResourceRequirements{Requests: list("cpu", "2"), Limits: list("cpu", "2")}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			of := func(r corev1.ResourceRequirements) *corev1.PodTemplateSpec {
				return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: *r.DeepCopy()}}}}
			}
			change, ok := Plan(of(tc.from), of(tc.to), Options{Resources: true})
			require.Equal(t, tc.want != nil, ok)
			if !ok {
				return
			}
			got := change.Resources["main"]
			assert.Equal(t, len(tc.want.Requests), len(got.Requests))
			assert.Equal(t, len(tc.want.Limits), len(got.Limits))
			assert.True(t, given(tc.want.Requests, got.Requests) && given(tc.want.Limits, got.Limits), "%v", got)
			_, ok = Plan(of(tc.from), of(tc.to), Options{})
			assert.Equal(t, apiequality.Semantic.DeepEqual(tc.from, tc.to), ok, "the gate is off")
		})
	}
}

func TestQoSClass(t *testing.T) {
	full := corev1.ResourceRequirements{Limits: list("cpu", "1", "memory", "1Gi")}
	tests := map[string]struct {
		containers []corev1.ResourceRequirements
		want       corev1.PodQOSClass
	}{
		"nothing":                      {[]corev1.ResourceRequirements{{}}, corev1.PodQOSBestEffort},
		"amounts of nothing":           {[]corev1.ResourceRequirements{cpu("0")}, corev1.PodQOSBestEffort},
		"limits":                       {[]corev1.ResourceRequirements{full}, corev1.PodQOSGuaranteed},
		"a request below its limit":    {[]corev1.ResourceRequirements{{Limits: full.Limits, Requests: list("cpu", "500m")}}, corev1.PodQOSBurstable},
		"a request":                    {[]corev1.ResourceRequirements{cpu("1")}, corev1.PodQOSBurstable},
		"one container without limits": {[]corev1.ResourceRequirements{full, {}}, corev1.PodQOSBurstable},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			spec := &corev1.PodSpec{}
			for _, r := range tc.containers {
				spec.Containers = append(spec.Containers, corev1.Container{Resources: r})
			}
			assert.Equal(t, tc.want, qosClass(podcontrol.WithRequests(spec)))
		})
	}
}

// Cases inplace-update 17, 18.
func TestWhichResourcesInterruptThePod(t *testing.T) {
	pod := podOf(map[string][]corev1.EnvVar{"main": nil})
	pod.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{
		{ResourceName: "cpu", RestartPolicy: corev1.NotRequired}, {ResourceName: "memory", RestartPolicy: corev1.RestartContainer},
	}
	change := func(amounts corev1.ResourceRequirements) *Change {
		return &Change{Resources: map[string]corev1.ResourceRequirements{"main": amounts}}
	}
	assert.False(t, change(cpu("1")).Interrupts(pod))
	assert.True(t, change(cpu("1")).TouchesContainers())
	assert.True(t, change(corev1.ResourceRequirements{Limits: list("memory", "1Gi")}).Interrupts(pod))
	both := change(cpu("1"))
	both.Images = map[string]string{"main": "main:2"}
	assert.True(t, both.Interrupts(pod))
}

// Case inplace-update 17.
func TestResourcesAreCompleteWhenTheNodeGaveThem(t *testing.T) {
	pod := podOf(map[string][]corev1.EnvVar{"main": nil, "side": nil})
	pod.Spec.Containers[0].Resources = cpu("100m")
	setResources(pod)
	name := pod.Spec.Containers[0].Name
	require.NoError(t, (&Change{Resources: map[string]corev1.ResourceRequirements{name: cpu("200m")}}).Apply(pod, "rev2", now))
	assert.Contains(t, pod.Annotations["apps.kruise.io/inplace-update-state"], `"updateResources":true`)
	evaluate := func() Progress {
		progress, err := Evaluate(pod, nil)
		require.NoError(t, err)
		return progress
	}
	assert.Equal(t, Progress{}, evaluate())
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred}}
	assert.Equal(t, Progress{}, evaluate(), "there may be room later")
	pod.Status.Conditions[0].Reason, pod.Status.Conditions[0].Message = corev1.PodReasonInfeasible, "too much"
	assert.Equal(t, Progress{Hopeless: "its node cannot resize it: too much"}, evaluate())
	setResources(pod)
	pod.Generation, pod.Status.ObservedGeneration = 2, 1
	assert.False(t, evaluate().Complete, "the node reports on the spec before")
	pod.Status.ObservedGeneration = 2
	assert.True(t, evaluate().Complete)
}

func TestSplit(t *testing.T) {
	before := podOf(map[string][]corev1.EnvVar{"main": nil})
	before.Spec.Containers[0].Resources = cpu("100m")
	after := before.DeepCopy()
	after.Labels = map[string]string{"v": "2"}
	resized, rest := Split(before, after)
	assert.Nil(t, resized)
	assert.Same(t, after, rest)

	after.Spec.Containers[0].Resources = cpu("200m")
	resized, rest = Split(before, after)
	assert.Equal(t, "200m", resized.Spec.Containers[0].Resources.Requests.Cpu().String())
	assert.Empty(t, resized.Labels)
	assert.Equal(t, "100m", rest.Spec.Containers[0].Resources.Requests.Cpu().String())
	assert.Equal(t, after.Labels, rest.Labels)
}

func TestNextUpdateWaitsForTheResources(t *testing.T) {
	pod := podOf(map[string][]corev1.EnvVar{"main": nil})
	pod.Spec.Containers[0].Resources = cpu("100m")
	setResources(pod)
	require.NoError(t, (&Change{Resources: map[string]corev1.ResourceRequirements{"main": cpu("200m")}}).Apply(pod, "rev2", now))
	require.NoError(t, (&Change{Labels: MapChange{Set: map[string]string{"x": "1"}}}).Apply(pod, "rev3", now))
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	assert.False(t, progress.Complete)
	setResources(pod)
	progress, err = Evaluate(pod, nil)
	require.NoError(t, err)
	assert.True(t, progress.Complete)
}

// The node's answer about another amount says nothing about this one.
func TestConditionOfAnOlderSpecDoesNotMakeAResizeHopeless(t *testing.T) {
	pod := podOf(map[string][]corev1.EnvVar{"main": nil})
	pod.Spec.Containers[0].Resources = cpu("100m")
	setResources(pod)
	require.NoError(t, (&Change{Resources: map[string]corev1.ResourceRequirements{"main": cpu("200m")}}).Apply(pod, "rev2", now))
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}}
	pod.Generation, pod.Status.ObservedGeneration = 2, 1
	progress, err := Evaluate(pod, nil)
	require.NoError(t, err)
	assert.Equal(t, Progress{}, progress)
}
