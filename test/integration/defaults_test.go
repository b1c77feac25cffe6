//go:build integration

package integration

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	protobufserializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/cloneset"
	"kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
	"kruise.io/kruise/pkg/reconcile"
)

// editStored changes the stored form of a CloneSet, without validation and defaulting.
func editStored(t *testing.T, namespace, name string, edit func(*v1beta1.CloneSet)) {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(env.server.dir, "data", "client-*.sock"))
	require.NoError(t, err)
	require.Len(t, sockets, 1)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + sockets[0]}, Context: t.Context()})
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	keys, err := client.Get(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	require.NoError(t, err)
	for _, kv := range keys.Kvs {
		if !strings.HasSuffix(string(kv.Key), "/clonesets/"+namespace+"/"+name) {
			continue
		}
		stored, err := client.Get(t.Context(), string(kv.Key))
		require.NoError(t, err)
		serializer := protobufserializer.NewSerializer(scheme.Scheme, scheme.Scheme)
		set := &v1beta1.CloneSet{}
		_, _, err = serializer.Decode(stored.Kvs[0].Value, nil, set)
		require.NoError(t, err)
		edit(set)
		set.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind("CloneSet"))
		var text bytes.Buffer
		require.NoError(t, serializer.Encode(set, &text))
		_, err = client.Put(t.Context(), string(kv.Key), text.String())
		require.NoError(t, err)
		return
	}
	require.Fail(t, "it is not stored", name)
}

// TestNewDefaultsRecreateNothing simulates an upgrade to a release whose Pod templates have one more default than the stored ones.
// The next change of the image still happens in place, also with InPlaceOnly, and no Pod is recreated.
func TestNewDefaultsRecreateNothing(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	sets, pods := env.kruise.AppsV1beta1().CloneSets(namespace), env.kube.CoreV1().Pods(namespace)
	set := newCloneSet("demo")
	set.Spec.Replicas = new(int32(2))
	set.Spec.UpdateStrategy.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: pub.InPlaceOnlyPodUpdatePolicy}
	set.Spec.Template.Spec.NodeSelector = map[string]string{"no": "such-node"}
	set.Spec.Template.Spec.Containers[0].Image = "kruise.local/demo:v1"
	_, err := sets.Create(t.Context(), set, metav1.CreateOptions{})
	require.NoError(t, err)
	editStored(t, namespace, "demo", func(set *v1beta1.CloneSet) {
		set.Spec.Template.Spec.DNSPolicy, set.Spec.Template.Spec.Containers[0].TerminationMessagePolicy = "", ""
	})
	stored := func() *v1beta1.CloneSet {
		set, err := sets.Get(t.Context(), "demo", metav1.GetOptions{})
		require.NoError(t, err)
		return set
	}
	require.Empty(t, stored().Spec.Template.Spec.DNSPolicy, "an older release stored it")

	runController(t, namespace, func(deps controller.Deps) (*reconcile.Controller, error) {
		return cloneset.New(deps, cloneset.Options{})
	})
	list := func() []corev1.Pod {
		list, err := pods.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		return list.Items
	}
	eventually(t, func() bool { return len(list()) == 2 && stored().Status.UpdatedReplicas == 2 })
	before := map[types.UID]bool{}
	for _, pod := range list() {
		before[pod.UID] = true
		_, err := pods.Patch(t.Context(), pod.Name, types.MergePatchType, []byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}

	_, err = sets.Patch(t.Context(), "demo", types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"kruise.local/demo:v2"}]`), metav1.PatchOptions{})
	require.NoError(t, err, "InPlaceOnly takes it")
	assert.Empty(t, stored().Spec.Template.Spec.DNSPolicy)
	eventually(t, func() bool {
		updated := 0
		for _, pod := range list() {
			assert.True(t, before[pod.UID], "%s was recreated", pod.Name)
			if pod.Spec.Containers[0].Image == "kruise.local/demo:v2" {
				updated++
			}
			// No kubelet runs these Pods, so their containers would never become ready.
			_, _ = pods.Patch(t.Context(), pod.Name, types.MergePatchType, []byte(`{"status":{"phase":"Running","conditions":[`+
				`{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"`+pod.Spec.Containers[0].Name+`","ready":true,"restartCount":0,`+
				`"image":"`+pod.Spec.Containers[0].Image+`","imageID":"x","containerID":"test://`+pod.Spec.Containers[0].Image+`"}]}}`),
				metav1.PatchOptions{}, "status")
		}
		return updated == 2
	})
}
