package main

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kruise.io/kruise/hack/images"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/generated/clientset/versioned/scheme"
	"kruise.io/kruise/pkg/nodeagent/cri/critest"
)

const (
	node = "node-1"
	// pods is the default maximum number of Pods of a kubelet.
	pods = 110
	// maxAllocated and maxProgram limit the memory of the idle agent in bytes. It matters because an agent runs on every node. The kernel
	// decides how many pages of the program's file are resident, and can take them back; there are never more than the file has.
	maxAllocated = 12 << 20
	maxProgram   = 30 << 20
)

// TestMemoryOfAnIdleAgent runs the program as in its image, on a node full of Pods. The result does not depend on the
// speed of the machine.
func TestMemoryOfAnIdleAgent(t *testing.T) {
	program := build(t)
	runDir, err := os.MkdirTemp("", "run") //nolint:usetesting // A socket's path has at most 107 bytes.
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(runDir)) })
	critest.Start(t, filepath.Join(runDir, "containerd/containerd.sock"), "containerd", "2.1.0")
	server := httptest.NewUnstartedServer(cluster(t))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)

	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	agent := exec.CommandContext(t.Context(), program, "--run-dir="+runDir, "--addr=127.0.0.1:0", "--v=2",
		"--kubeconfig="+kubeconfig(t, server))
	agent.Env = append(os.Environ(), "NODE_NAME="+node)
	agent.Stderr = log
	agent.Cancel = func() error { return agent.Process.Signal(syscall.SIGTERM) }
	require.NoError(t, agent.Start())
	t.Cleanup(func() { assert.ErrorIs(t, agent.Wait(), context.Canceled, "it ends by itself when it is told to") })

	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		text, err := os.ReadFile(log.Name())
		require.NoError(c, err)
		address := regexp.MustCompile(`address="([^"]+)"`).FindSubmatch(text)
		require.NotNil(c, address, "%s", text)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+string(address[1])+"/readyz", nil)
		require.NoError(c, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(c, err)
		assert.NoError(c, response.Body.Close())
		assert.Equal(c, http.StatusOK, response.StatusCode, "%s", text)
	}, time.Minute, 50*time.Millisecond)
	// The Go runtime forces a collection at least every 2 minutes. It then returns the memory that only the start needed.
	assert.Eventually(t, func() bool { return resident(t, agent.Process.Pid, "RssAnon") < maxAllocated }, 3*time.Minute, time.Second)
	file, err := os.Stat(program)
	require.NoError(t, err)
	assert.Less(t, file.Size(), int64(maxProgram))
	for _, kind := range []string{"VmRSS", "RssAnon", "RssFile"} {
		t.Logf("%s: %.1f MiB", kind, float64(resident(t, agent.Process.Pid, kind))/(1<<20))
	}
}

func build(t *testing.T) string {
	t.Helper()
	for _, program := range images.Programs() {
		if program.Name == "node-agent" {
			out := filepath.Join(t.TempDir(), "node-agent")
			require.NoError(t, images.Compile(t.Context(), images.Compilation{Dir: "../..", Package: program.Package, Out: out, Tags: program.BuildTags}))
			return out
		}
	}
	require.Fail(t, "no such image")
	return ""
}

func kubeconfig(t *testing.T, server *httptest.Server) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server:                   server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	return path
}

// resident returns a memory figure of a process, in bytes.
func resident(t *testing.T, pid int, kind string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); name == kind {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			require.NoError(t, err)
			return kib << 10
		}
	}
	require.Fail(t, "not found", kind)
	return 0
}

// cluster acts as an API server with one full node. It serves events, and protobuf watches that begin with the existing objects.
func cluster(t *testing.T) http.Handler {
	t.Helper()
	require.NoError(t, corev1.AddToScheme(scheme.Scheme))
	streamer, found := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	require.True(t, found)
	encode := func(gv schema.GroupVersion, object runtime.Object) []byte {
		data, err := runtime.Encode(scheme.Codecs.EncoderForVersion(streamer.Serializer, gv), object)
		assert.NoError(t, err)
		return data
	}
	watch := func(gv schema.GroupVersion, last runtime.Object, objects ...runtime.Object) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "true", r.URL.Query().Get("sendInitialEvents"))
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
			frames := streamer.StreamSerializer.NewFrameWriter(w)
			send := func(kind string, object runtime.Object) {
				event := &metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: encode(gv, object)}}
				assert.NoError(t, streamer.StreamSerializer.Encode(event, frames))
			}
			for _, object := range objects {
				send("ADDED", object)
			}
			last.(metav1.Object).SetResourceVersion("1000")
			last.(metav1.Object).SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
			send("BOOKMARK", last)
			assert.NoError(t, http.NewResponseController(w).Flush())
			<-r.Context().Done()
		}
	}
	var full []runtime.Object
	for i := range pods {
		full = append(full, pod(i))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/pods", watch(corev1.SchemeGroupVersion, &corev1.Pod{}, full...))
	mux.HandleFunc("GET /apis/apps.kruise.io/v1beta1/nodeimages", watch(v1beta1.SchemeGroupVersion, &v1beta1.NodeImage{},
		&v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: node, ResourceVersion: "1"}}))
	mux.HandleFunc("GET /apis/apps.kruise.io/v1beta1/containerrecreaterequests", watch(v1beta1.SchemeGroupVersion, &v1beta1.ContainerRecreateRequest{}))
	mux.HandleFunc("GET /apis/apps.kruise.io/v1alpha1/nodepodprobes", watch(v1alpha1.SchemeGroupVersion, &v1alpha1.NodePodProbe{},
		&v1alpha1.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: node, ResourceVersion: "1"}}))
	mux.HandleFunc("POST /api/v1/namespaces/default/events", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		w.WriteHeader(http.StatusCreated)
		_, err = w.Write(body)
		assert.NoError(t, err)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		assert.Fail(t, "not expected of an idle agent", "%s %s", r.Method, r.URL)
		http.NotFound(w, r)
	})
	return mux
}

// pod returns a Pod of a CloneSet. It is as large as a real Pod with defaults and several writers.
func pod(i int) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprintf("web-%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i)), ResourceVersion: strconv.Itoa(i + 1),
			Labels:          map[string]string{"app": "web", "pod-template-hash": "5d4f8c7b9"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: node},
	}
	for _, manager := range []string{"kruise-manager", "kubelet", "scheduler", "kruise-daemon"} {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"` + strings.Repeat("x", 1500) + `":{}}}`),
		})
	}
	var report []string
	for c := range 3 {
		name := fmt.Sprintf("container-%d", c)
		id := fmt.Sprintf("containerd://%064x", 3*i+c)
		container := corev1.Container{
			Name: name, Image: "registry.example.com/team/application:v1.2.3", Args: []string{"--one", "--two", "--three"},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}},
		}
		for e := range 10 {
			container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", e), Value: "some value of some length"})
		}
		p.Spec.Containers = append(p.Spec.Containers, container)
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, ContainerID: id, Ready: true})
		report = append(report, fmt.Sprintf(`{"name":%q,"containerID":%q,"restartCount":0,"hashes":{"plainHash":1,"extractedEnvFromMetadataHash":%d}}`,
			name, id, 2166136261))
	}
	p.Annotations = map[string]string{pub.RuntimeContainerMetaKey: `{"containers":[` + strings.Join(report, ",") + `]}`}
	return p
}
