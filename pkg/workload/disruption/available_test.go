package disruption

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// Case podunavailablebudget 1a.
func TestAvailable(t *testing.T) {
	image := func(spec, status, id string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Image = spec
			pod.Status.ContainerStatuses[0].Image, pod.Status.ContainerStatuses[0].ImageID = status, id
		}
	}
	sidecar := func(record string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "IS_INJECTED", Value: "true"}}
			pod.Annotations = map[string]string{pub.SidecarSetInjectedListKey: "s", pub.SidecarSetInPlaceUpdateStateKey: record}
		}
	}
	tests := map[string]struct {
		edits              []func(*corev1.Pod)
		serving, available bool
	}{
		"ready":          {nil, true, true},
		"not ready":      {[]func(*corev1.Pod){notReady}, false, false},
		"marked":         {[]func(*corev1.Pod){labelled("unavailable-pod.kruise.io/x")}, false, false},
		"other label":    {[]func(*corev1.Pod){labelled("available-pod.kruise.io/x")}, true, true},
		"same digest":    {[]func(*corev1.Pod){image("app@sha256:1", "", "app@sha256:1")}, true, true},
		"another digest": {[]func(*corev1.Pod){image("app@sha256:2", "", "app@sha256:1")}, false, false},
		"digest beside the ID of a configuration": {[]func(*corev1.Pod){image("app@sha256:1", "", "sha256:2")}, true, true},
		"digest beside the same text":             {[]func(*corev1.Pod){image("app@sha256:1", "", "docker://sha256:1")}, true, true},
		"digest that is not reported":             {[]func(*corev1.Pod){image("app@sha256:1", "", "")}, true, true},
		"update to a digest is in progress": {[]func(*corev1.Pod){annotated(pub.InPlaceUpdateStateKey, `{"revision":"r","lastContainerStatuses":{"main":{"image":"app:1","imageID":"sha256:1"}}}`),
			image("app@sha256:2", "app:1", "sha256:1")}, false, false},
		"sidecar with a digest is in progress": {[]func(*corev1.Pod){
			sidecar(`{"s":{"lastContainerStatuses":{"main":{"image":"app:1","imageID":"sha256:1","containerID":"c://2"}}}}`),
			image("app@sha256:2", "app:1", "sha256:1"), running,
		}, false, false},
		"update unfinished": {[]func(*corev1.Pod){annotated(pub.InPlaceUpdateStateKey, `{"revision":"r","lastContainerStatuses":{"main":{"imageID":"sha256:1"}}}`), image("app:2", "app:1", "sha256:1")}, false, false},
		"update finished":   {[]func(*corev1.Pod){annotated(pub.InPlaceUpdateStateKey, `{"revision":"r","lastContainerStatuses":{"main":{"imageID":"sha256:1"}}}`), image("app:2", "app:2", "sha256:2"), running}, true, true},
		"update unreadable": {[]func(*corev1.Pod){annotated(pub.InPlaceUpdateStateKey, `{`)}, false, false},
		"sidecar unfinished": {[]func(*corev1.Pod){sidecar(`{"s":{"lastContainerStatuses":{"main":{"imageID":"sha256:1"}}}}`), image("app:2", "app:1", "sha256:1")},
			false, false},
		"sidecar finished":       {[]func(*corev1.Pod){sidecar(`{"s":{"lastContainerStatuses":{"main":{"imageID":"sha256:0"}}}}`)}, true, true},
		"sidecar with same name": {[]func(*corev1.Pod){sidecar(`{"s":{"lastContainerStatuses":{"main":{"imageID":"sha256:1"}}}}`)}, true, true},
		"sidecar returned to its image before the node acted": {[]func(*corev1.Pod){
			sidecar(`{"s":{"lastContainerStatuses":{"main":{"image":"nginx:1.25","imageID":"sha256:1","containerID":"c://2"}}}}`),
			image("nginx:1.25", "docker.io/library/nginx:1.25", "sha256:1"), running,
		}, true, true},
		"sidecar with the full name of the same image": {[]func(*corev1.Pod){
			sidecar(`{"s":{"lastContainerStatuses":{"main":{"imageID":"sha256:1"}}}}`),
			image("nginx:1.25", "docker.io/library/nginx:1.25", "sha256:1"), running,
		}, true, true},
		"sidecar restarted with the old image": {[]func(*corev1.Pod){
			sidecar(`{"s":{"lastContainerStatuses":{"main":{"image":"app:1","imageID":"sha256:1","containerID":"c://1"}}}}`),
			image("app:2", "app:1", "sha256:1"), running,
		}, false, false},
		"sidecar unreadable": {[]func(*corev1.Pod){sidecar(`{`)}, false, false},
		"spec unseen by the node": {[]func(*corev1.Pod){func(p *corev1.Pod) { p.Generation, p.Status.ObservedGeneration = 3, 2 }},
			true, false},
		"spec seen by the node": {[]func(*corev1.Pod){func(p *corev1.Pod) { p.Generation, p.Status.ObservedGeneration = 3, 3 }}, true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("p", test.edits...)
			assert.Equal(t, test.serving, Serving(pod), "serving")
			assert.Equal(t, test.available, Available(pod), "available")
		})
	}
}

// Case inplace-update 15.
func TestUpdateEndsForABudgetWithoutTheNodeAgent(t *testing.T) {
	const (
		recorded = `"revision":"r","lastContainerStatuses":{"main":{"image":"app:1","imageID":"sha256:1","containerID":"c://1"}}`
		stale    = `{"containers":[{"name":"main","containerID":"c://1"}]}`
	)
	// updated is a Pod whose new instance runs. The agent reported on the instance before.
	updated := func(statusImage, id string, edits ...func(*corev1.Pod)) *corev1.Pod {
		return newPod("p", append([]func(*corev1.Pod){func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{pub.InPlaceUpdateStateKey: "{" + recorded + "}", pub.RuntimeContainerMetaKey: stale}
			pod.Spec.Containers[0].Image = "app:2"
			pod.Status.ContainerStatuses[0].Image, pod.Status.ContainerStatuses[0].ImageID = statusImage, id
			running(pod)
		}}, edits...)...)
	}
	annotate := func(key, value string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Annotations[key] = value }
	}
	observed := func(pod *corev1.Pod) { pod.Generation, pod.Status.ObservedGeneration = 2, 2 }
	sameInstance := func(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].ContainerID = "c://1" }
	tests := map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"the new image runs":                               {updated("app:2", "sha256:2"), true},
		"the new image has the ID of the old one":          {updated("app:2", "sha256:1"), true},
		"the runtime names another tag":                    {updated("app:3", "sha256:2"), true},
		"another tag of the old ID, and the spec was seen": {updated("app:1", "sha256:1", observed), true},
		"another tag of the old ID":                        {updated("app:1", "sha256:1"), false},
		"the instance before still runs":                   {updated("app:2", "sha256:1", sameInstance, observed), false},
		"another batch follows": {updated("app:2", "sha256:2", annotate(pub.InPlaceUpdateStateKey,
			"{"+recorded+`,"nextContainerImages":{"side":"side:2"}}`)), false},
		"the grace period lasts": {updated("app:2", "sha256:2", annotate(pub.InPlaceUpdateGraceKey, `{"revision":"r","graceSeconds":5}`)), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, Serving(test.pod)) })
	}
}

func running(pod *corev1.Pod) {
	pod.Status.ContainerStatuses[0].ContainerID = "c://2"
	pod.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{}
}

// Cases podunavailablebudget 9, 23.
func TestUpdateOf(t *testing.T) {
	amounts := func(name corev1.ResourceName, amount string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{name: resource.MustParse(amount)}
		}
	}
	restarts := func(p *corev1.Pod) {
		p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}}
	}
	// sidecar adds one that kubelets run beside the containers.
	sidecar := func(amount string, policy ...corev1.ContainerResizePolicy) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{
				Name: "side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), ResizePolicy: policy,
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"memory": resource.MustParse(amount)}},
			}}
		}
	}
	bound := func(amount string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse(amount)}}
		}
	}
	restart := corev1.ContainerResizePolicy{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}
	static := annotated(corev1.MirrorPodAnnotationKey, "x")
	tests := map[string]struct {
		before, after []func(*corev1.Pod)
		want          v1beta1.PubOperation
	}{
		"labels alone":        {nil, []func(*corev1.Pod){labelled("x")}, ""},
		"an image":            {nil, []func(*corev1.Pod){func(p *corev1.Pod) { p.Spec.Containers[0].Image = "app:2" }}, "UPDATE"},
		"marked":              {nil, []func(*corev1.Pod){labelled("unavailable-pod.kruise.io/x")}, "UPDATE"},
		"marked again":        {[]func(*corev1.Pod){labelled("unavailable-pod.kruise.io/x")}, []func(*corev1.Pod){labelled("unavailable-pod.kruise.io/y")}, ""},
		"unmarked":            {[]func(*corev1.Pod){labelled("unavailable-pod.kruise.io/x")}, nil, ""},
		"a toleration":        {nil, []func(*corev1.Pod){func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: "x"}} }}, "UPDATE"},
		"an init container":   {nil, []func(*corev1.Pod){func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Image: "i:2"}} }}, "UPDATE"},
		"processor":           {[]func(*corev1.Pod){amounts("cpu", "1")}, []func(*corev1.Pod){amounts("cpu", "2")}, "RESIZE"},
		"memory":              {[]func(*corev1.Pod){amounts("memory", "1Gi")}, []func(*corev1.Pod){amounts("memory", "2Gi")}, "RESIZE"},
		"memory by a restart": {[]func(*corev1.Pod){restarts, amounts("memory", "1Gi")}, []func(*corev1.Pod){restarts, amounts("memory", "2Gi")}, "UPDATE"},
		"processor beside it": {[]func(*corev1.Pod){restarts, amounts("cpu", "1")}, []func(*corev1.Pod){restarts, amounts("cpu", "2")}, "RESIZE"},
		"of a sidecar":        {[]func(*corev1.Pod){sidecar("1Gi")}, []func(*corev1.Pod){sidecar("2Gi")}, "RESIZE"},
		"sidecar restarts":    {[]func(*corev1.Pod){sidecar("1Gi", restart)}, []func(*corev1.Pod){sidecar("2Gi", restart)}, "UPDATE"},
		"of the Pod":          {[]func(*corev1.Pod){bound("1")}, []func(*corev1.Pod){bound("2")}, "RESIZE"},
		"another resource":    {[]func(*corev1.Pod){amounts("disks", "1")}, []func(*corev1.Pod){amounts("disks", "2")}, "UPDATE"},
		"of a static Pod":     {[]func(*corev1.Pod){static, amounts("cpu", "1")}, []func(*corev1.Pod){static, amounts("cpu", "2")}, "UPDATE"},
		"processor and image": {[]func(*corev1.Pod){amounts("cpu", "1")},
			[]func(*corev1.Pod){amounts("cpu", "2"), func(p *corev1.Pod) { p.Spec.Containers[0].Image = "app:2" }}, "UPDATE"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := newPod("p", test.before...), newPod("p", test.after...)
			kept := after.DeepCopy()
			operation, disrupts := UpdateOf(before, after)
			assert.Equal(t, test.want, operation)
			assert.Equal(t, test.want != "", disrupts)
			assert.Equal(t, kept, after)
		})
	}
}
