//go:build integration

package integration

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// agentOn returns a client configuration with the token of an agent's Pod on the node.
func agentOn(t *testing.T, node string) *rest.Config {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	_, err := env.kube.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = env.kube.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}) })
	pods := env.kube.CoreV1().Pods(ownNamespace)
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-on-" + node},
		Spec: corev1.PodSpec{
			NodeName: node, ServiceAccountName: "kruise-daemon",
			Containers: []corev1.Container{{Name: "daemon", Image: "kruise.local/node-agent:v0.1.0"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}) })
	token, err := env.kube.CoreV1().ServiceAccounts(ownNamespace).CreateToken(ctx, "kruise-daemon", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{
			BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	config := rest.AnonymousClientConfig(env.config)
	config.BearerToken = token.Status.Token
	return config
}

// past makes a client connect to the server without the aggregation layer.
func past(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host, config.CAFile, config.CAData, config.Insecure = env.server.url(), "", nil, true
	return config
}

// newPullSecret creates a Secret in the namespace of pull Secrets.
func newPullSecret(t *testing.T, name string) {
	t.Helper()
	secrets := env.kube.CoreV1().Secrets(pub.DaemonConfigNamespace)
	_, err := secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = secrets.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}) })
}

// It uses real tokens, bound to Pods on two nodes, through the
// aggregation layer and past it.
// Case node-agent 19.
func TestAgentsReachTheirNodeAlone(t *testing.T) {
	t.Parallel()
	const node, other = "scope-a", "scope-b"
	agent := agentOn(t, node)
	for _, name := range []string{node, other} {
		newPullSecret(t, "scope-"+name)
		_, err := env.kruise.AppsV1beta1().NodeImages().Create(t.Context(), &v1beta1.NodeImage{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1beta1.NodeImageSpec{Images: map[string]v1beta1.ImageSpec{"nginx": {
				PullSecrets: []v1beta1.ReferenceObject{{Namespace: pub.DaemonConfigNamespace, Name: "scope-" + name}},
				Tags:        []v1beta1.ImageTagSpec{{Tag: "v1", PullPolicy: &v1beta1.ImageTagPullPolicy{TTLSecondsAfterFinished: ptr.To[int32](5)}}},
			}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		t.Cleanup(func() {
			_ = env.kruise.AppsV1beta1().NodeImages().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
		})
	}
	_, err := env.kruise.AppsV1beta1().NodeImages().GetPullSecrets(t.Context(), node, metav1.GetOptions{})
	require.True(t, apierrors.IsForbidden(err), "an administrator may do everything, and this is for agents: %v", err)
	for way, config := range map[string]*rest.Config{"through": agent, "past": past(agent)} {
		t.Run(way, func(t *testing.T) {
			client, err := versioned.NewForConfig(config)
			require.NoError(t, err)
			images := client.AppsV1beta1().NodeImages()
			selected := func(name string) metav1.ListOptions {
				return metav1.ListOptions{FieldSelector: "metadata.name=" + name}
			}

			image, err := images.Get(t.Context(), node, metav1.GetOptions{})
			require.NoError(t, err)
			list, err := images.List(t.Context(), selected(node))
			require.NoError(t, err)
			require.Len(t, list.Items, 1)
			watcher, err := images.Watch(t.Context(), selected(node))
			require.NoError(t, err)
			watcher.Stop()
			image.Status.Desired++
			_, err = images.UpdateStatus(t.Context(), image, metav1.UpdateOptions{})
			require.NoError(t, err)
			_, err = images.Patch(t.Context(), node, types.MergePatchType, []byte(`{"status":{"desired":7}}`), metav1.PatchOptions{}, "status")
			require.NoError(t, err)

			secrets, err := images.GetPullSecrets(t.Context(), node, metav1.GetOptions{})
			require.NoError(t, err)
			require.Len(t, secrets.Items, 1, "what its NodeImage names")
			assert.Equal(t, corev1.SecretTypeDockerConfigJson, secrets.Items[0].Type)
			assert.Equal(t, `{"auths":{}}`, string(secrets.Items[0].Data[corev1.DockerConfigJsonKey]))

			refusals := map[string]func() error{
				"another's secrets": func() error {
					_, err := images.GetPullSecrets(t.Context(), other, metav1.GetOptions{})
					return err
				},
				"get another":    func() error { _, err := images.Get(t.Context(), other, metav1.GetOptions{}); return err },
				"list all":       func() error { _, err := images.List(t.Context(), metav1.ListOptions{}); return err },
				"list another":   func() error { _, err := images.List(t.Context(), selected(other)); return err },
				"watch all":      func() error { _, err := images.Watch(t.Context(), metav1.ListOptions{}); return err },
				"watch another":  func() error { _, err := images.Watch(t.Context(), selected(other)); return err },
				"write its spec": func() error { _, err := images.Update(t.Context(), image, metav1.UpdateOptions{}); return err },
				"delete its own": func() error { return images.Delete(t.Context(), node, metav1.DeleteOptions{}) },
				"report another": func() error {
					_, err := images.Patch(t.Context(), other, types.MergePatchType, []byte(`{"status":{"desired":7}}`), metav1.PatchOptions{}, "status")
					return err
				},
				"read another kind": func() error {
					_, err := client.AppsV1beta1().CloneSets("default").List(t.Context(), metav1.ListOptions{})
					return err
				},
			}
			for name, refused := range refusals {
				err := refused()
				assert.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
			}
			assert.ErrorContains(t, refusals["list all"](),
				"the agent of node scope-a can list only nodeimages with that name; use the name, or the field selector metadata.name=scope-a")
			assert.ErrorContains(t, refusals["report another"](), "the agent of node scope-a can patch only nodeimages/status with that name")
		})
	}

	stranger, err := versioned.NewForConfig(as(t, "kruise-manager"))
	require.NoError(t, err)
	_, err = stranger.AppsV1beta1().NodeImages().GetPullSecrets(t.Context(), node, metav1.GetOptions{})
	require.True(t, apierrors.IsForbidden(err), "nobody without the verb: %v", err)

	unbound, err := versioned.NewForConfig(as(t, "kruise-daemon"))
	require.NoError(t, err)
	_, err = unbound.AppsV1beta1().NodeImages().Get(t.Context(), node, metav1.GetOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, "the node agent's token does not name a node")
}

// An agent reports on probes, and does not choose them: neither in the spec, nor with a report that contains a spec.
func TestAgentsDoNotChooseTheirProbes(t *testing.T) {
	t.Parallel()
	const node = "scope-probes"
	probes := env.kruise.AppsV1alpha1().NodePodProbes()
	object := &v1alpha1.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: node}}
	object.Spec.PodProbes = []v1alpha1.PodProbe{{Namespace: "ns", Name: "web", UID: "uid", Probes: []v1alpha1.ContainerProbe{{
		Name: "m#p", ContainerName: "main", Probe: v1alpha1.ContainerProbeSpec{Probe: corev1.Probe{ProbeHandler: corev1.ProbeHandler{
			Exec: &corev1.ExecAction{Command: []string{"check"}},
		}}},
	}}}}
	stored, err := probes.Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = probes.Delete(context.WithoutCancel(t.Context()), node, metav1.DeleteOptions{}) })
	config := agentOn(t, node)
	for way, config := range map[string]*rest.Config{"through": config, "past": past(config)} {
		t.Run(way, func(t *testing.T) {
			client, err := versioned.NewForConfig(config)
			require.NoError(t, err)
			agent := client.AppsV1alpha1().NodePodProbes()
			const patch = `{"spec":{"podProbes":[]},"metadata":{"labels":{"a":"b"},"uid":"UID"},
				"status":{"podProbeStatuses":[{"namespace":"ns","name":"web","uid":"uid","probeStates":[{"name":"m#p","state":"Succeeded"}]}]}}`
			data := []byte(strings.Replace(patch, "UID", string(stored.UID), 1))
			_, err = agent.Patch(t.Context(), node, types.MergePatchType, data, metav1.PatchOptions{})
			require.True(t, apierrors.IsForbidden(err), "%v", err)
			got, err := agent.Patch(t.Context(), node, types.MergePatchType, data, metav1.PatchOptions{}, "status")
			require.NoError(t, err)
			assert.Equal(t, stored.Spec, got.Spec)
			assert.Empty(t, got.Labels)
			assert.Len(t, got.Status.PodProbeStatuses, 1)
			_, err = agent.Patch(t.Context(), node, types.MergePatchType, []byte(strings.Replace(patch, "UID", "another", 1)),
				metav1.PatchOptions{}, "status")
			require.Error(t, err, "a NodePodProbe that was replaced")
		})
	}
}
