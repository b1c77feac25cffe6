package pod

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// with returns a container. env are names and values.
func with(name string, env ...string) corev1.Container {
	c := corev1.Container{Name: name, Image: name + ":1"}
	for i := 0; i < len(env); i += 2 {
		c.Env = append(c.Env, corev1.EnvVar{Name: env[i], Value: env[i+1]})
	}
	return c
}

func priority(name, value string) corev1.Container {
	return with(name, "A", "1", "KRUISE_CONTAINER_PRIORITY", value)
}

func of(containers ...corev1.Container) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Name, pod.GenerateName, pod.Spec.Containers = "p", "", containers }
}

func inOrder(pod *corev1.Pod) {
	pod.Annotations = map[string]string{"apps.kruise.io/container-launch-priority": "Ordered"}
}

// Cases container-launch-priority 1, 2, 3, 4, 7, 13.
func TestBarriersFollowTheOrder(t *testing.T) {
	other := func(pod *corev1.Pod) { inOrder(pod); pod.Annotations[pub.ContainerLaunchPriorityKey] = "ordered" }
	twice := with("b", "KRUISE_CONTAINER_PRIORITY", "1", "KRUISE_CONTAINER_PRIORITY", "2")
	tests := map[string]struct {
		edits []func(*corev1.Pod)
		want  []string
	}{
		"in the order of the spec":      {[]func(*corev1.Pod){of(with("a"), with("b"), with("c")), inOrder}, []string{"p_0", "p_-1", "p_-2"}},
		"the order, not the variables":  {[]func(*corev1.Pod){of(priority("a", "1"), priority("b", "high")), inOrder}, []string{"p_0", "p_-1"}},
		"by the variables":              {[]func(*corev1.Pod){of(with("a"), priority("b", "5"), priority("c", "5"))}, []string{"p_0", "p_5", "p_5"}},
		"the lowest priority":           {[]func(*corev1.Pod){of(with("a"), priority("b", "-2147483647"))}, []string{"p_0", "p_-2147483647"}},
		"the last of several variables": {[]func(*corev1.Pod){of(with("a"), twice)}, []string{"p_0", "p_2"}},
		"all alike":                     {[]func(*corev1.Pod){of(priority("a", "3"), priority("b", "3"))}, nil},
		"no priorities":                 {[]func(*corev1.Pod){of(with("a"), with("b"))}, nil},
		"another word than Ordered":     {[]func(*corev1.Pod){of(with("a"), with("b")), other}, nil},
		"one container":                 {[]func(*corev1.Pod){of(priority("a", "high")), inOrder}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := newPod(tc.edits...)
			pod := newWorld(t, "", nil).create(before)
			var keys []string
			for i := range pod.Spec.Containers {
				env := pod.Spec.Containers[i].Env
				own := len(before.Spec.Containers[i].Env)
				if len(env) == own {
					continue
				}
				require.Len(t, env, own+1)
				assert.Equal(t, corev1.EnvVar{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{
					ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
						LocalObjectReference: corev1.LocalObjectReference{Name: "p-barrier"}, Key: env[own].ValueFrom.ConfigMapKeyRef.Key,
					},
				}}, env[own], "nothing else, at the end")
				keys = append(keys, env[own].ValueFrom.ConfigMapKeyRef.Key)
			}
			assert.Equal(t, tc.want, keys)
		})
	}
}

// Case container-launch-priority 6.
// Cases pod-admission 5, 22.
func TestPodWithAnOrderGetsItsNameFirst(t *testing.T) {
	long := strings.Repeat("a", 70)
	for name, tc := range map[string]struct{ prefix, want string }{
		"short": {"web-", "^web-[a-z0-9]{5}$"}, "long": {long, "^" + long[:58] + "[a-z0-9]{5}$"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newWorld(t, "", nil).create(newPod(of(with("a"), with("b")), inOrder, func(pod *corev1.Pod) {
				pod.Name, pod.GenerateName = "", tc.prefix
			}))
			assert.Regexp(t, tc.want, pod.Name)
			assert.Equal(t, pod.Name+"-barrier", pod.Spec.Containers[0].Env[0].ValueFrom.ConfigMapKeyRef.Name)
		})
	}
}

// kube-apiserver refuses such a Pod after admission.
func TestPodWithoutANameGetsNone(t *testing.T) {
	pod := newWorld(t, "", nil).create(newPod(of(with("a"), with("b")), inOrder, func(pod *corev1.Pod) { pod.Name = "" }))
	assert.Empty(t, pod.Name)
	assert.Empty(t, pod.Spec.Containers[0].Env)
}

// Case container-launch-priority 5.
func TestPodWithAWrongOrderIsRefused(t *testing.T) {
	referred := with("b")
	referred.Env = []corev1.EnvVar{{Name: "KRUISE_CONTAINER_PRIORITY", ValueFrom: &corev1.EnvVarSource{}}}
	named := func(name string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { of(with("a"), priority("b", "1"))(pod); pod.Name = name }
	}
	tests := map[string]struct {
		edit func(*corev1.Pod)
		want string
	}{
		"no number":               {of(with("a"), priority("b", "high")), `KRUISE_CONTAINER_PRIORITY of container b is "high"; set it to a whole number`},
		"empty":                   {of(with("a"), priority("b", "")), "container b"},
		"a fraction":              {of(with("a"), priority("b", "1.5")), "container b"},
		"too large":               {of(with("a"), priority("b", "2147483648")), "container b"},
		"from elsewhere":          {of(with("a"), referred), "container b"},
		"a barrier of the user":   {of(with("a", "KRUISE_CONTAINER_BARRIER", "x"), priority("b", "1")), "container a sets the environment variable KRUISE_CONTAINER_BARRIER"},
		"a name that is too long": {named(strings.Repeat("a", 246)), "use a shorter name"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", nil)
			operations, err := w.Patch(t.Context(), w.attributes(newPod(tc.edit)))
			require.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, tc.want)
			assert.Empty(t, operations)
		})
	}
}

// Cases container-launch-priority 4, 15: SidecarSets come first.
// Case pod-admission 4.
func TestInjectedContainersHaveTheirPlaceInTheOrder(t *testing.T) {
	whole := []v1beta1.SidecarSetPatchPodMetadata{{
		Annotations: map[string]string{"apps.kruise.io/container-launch-priority": "Ordered"}, PatchPolicy: v1beta1.SidecarSetRetainPatchPolicy,
	}}
	ordering := func(set *v1beta1.SidecarSet) { set.Spec.PatchPodMetadata = whole }
	first := first(func(c *v1beta1.SidecarContainer) {
		c.Env = []corev1.EnvVar{{Name: "KRUISE_CONTAINER_PRIORITY", Value: "10"}}
	})
	tests := map[string]struct {
		pod  *corev1.Pod
		set  *v1beta1.SidecarSet
		want []string
	}{
		"by the Pod":                   {newPod(inOrder), newSet("logs", []string{"s"}), []string{"s p_0", "main p_-1"}},
		"by the SidecarSet":            {newPod(), newSet("logs", []string{"s"}, ordering), []string{"s p_0", "main p_-1"}},
		"by a variable of the sidecar": {newPod(), newSet("logs", []string{"s"}, first), []string{"s p_10", "main p_0"}},
		"without an order of any kind": {newPod(), newSet("logs", []string{"s"}), []string{"s", "main"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, "SidecarSetPatchPodMetadataDefaultsAllowed=true", nil, tc.set)
			pod, err := w.tryCreate(tc.pod)
			require.NoError(t, err)
			var got []string
			for i := range pod.Spec.Containers {
				text := pod.Spec.Containers[i].Name
				if barrier := lastVariable(&pod.Spec.Containers[i], "KRUISE_CONTAINER_BARRIER"); barrier != nil {
					text += " " + barrier.ValueFrom.ConfigMapKeyRef.Key
				}
				got = append(got, text)
			}
			assert.Equal(t, tc.want, got)
		})
	}
}
