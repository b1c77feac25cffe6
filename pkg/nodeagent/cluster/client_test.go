package cluster_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/nodeagent/cluster"
)

// server answers every request with the given code and text. The returned function reports what the server was asked.
func server(t *testing.T, code int, text string) (cluster.Interface, func() string) {
	t.Helper()
	asked := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		asked <- fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Content-Type"), body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, err = io.WriteString(w, text)
		assert.NoError(t, err)
	}))
	t.Cleanup(s.Close)
	config := &rest.Config{Host: s.URL}
	client, err := cluster.New(config, config)
	require.NoError(t, err)
	return client, func() string { return <-asked }
}

func TestRequests(t *testing.T) {
	client, asked := server(t, http.StatusOK, `{"metadata":{"name":"a","resourceVersion":"7"}}`)
	ctx := t.Context()

	pod, err := client.Pods("ns").Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "7", pod.ResourceVersion)
	assert.Equal(t, "GET /api/v1/namespaces/ns/pods/a  ", asked())

	_, err = client.Pods("ns").Patch(ctx, "a", types.StrategicMergePatchType, []byte("{}"), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	assert.Equal(t, "PATCH /api/v1/namespaces/ns/pods/a/status application/strategic-merge-patch+json {}", asked())

	_, err = client.Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=n", TimeoutSeconds: new(int64(5))})
	require.NoError(t, err)
	assert.Equal(t, "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn&timeout=5s&timeoutSeconds=5  ", asked())

	_, err = client.NodeImages().UpdateStatus(ctx, &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Contains(t, asked(), `PUT /apis/apps.kruise.io/v1beta1/nodeimages/n/status application/json {"kind":"NodeImage",`)

	request := &v1beta1.ContainerRecreateRequest{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
	_, err = client.ContainerRecreateRequests("ns").UpdateStatus(ctx, request, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Contains(t, asked(), `PUT /apis/apps.kruise.io/v1beta1/namespaces/ns/containerrecreaterequests/r/status application/json `)

	_, err = client.PullSecrets(ctx, "n")
	require.NoError(t, err)
	assert.Equal(t, "GET /apis/apps.kruise.io/v1beta1/nodeimages/n/pullsecrets  ", asked())
}

func TestSinkWritesEventsWhereTheyBelong(t *testing.T) {
	client, asked := server(t, http.StatusOK, `{}`)
	sink := cluster.Sink(t.Context(), client)
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e"}}
	_, err := sink.Create(event)
	require.NoError(t, err)
	assert.Contains(t, asked(), `POST /api/v1/namespaces/ns/events application/json {"kind":"Event",`)
	_, err = sink.Update(event)
	require.NoError(t, err)
	assert.Contains(t, asked(), `PUT /api/v1/namespaces/ns/events/e application/json {"kind":"Event",`)
	_, err = sink.Patch(event, []byte(`{"count":2}`))
	require.NoError(t, err)
	assert.Equal(t, `PATCH /api/v1/namespaces/ns/events/e application/strategic-merge-patch+json {"count":2}`, asked())
}

func TestRefusalIsReturnedAsError(t *testing.T) {
	client, _ := server(t, http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	_, err := client.PullSecrets(t.Context(), "n")
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
}

func TestListerWatcherSelects(t *testing.T) {
	client, asked := server(t, http.StatusOK, `{"kind":"NodeImageList","apiVersion":"apps.kruise.io/v1beta1","items":[{"metadata":{"name":"n"}}]}`)
	source := cluster.ListerWatcher(client, client.NodeImages(), func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=n" })
	list, err := cache.ToListerWatcherWithContext(source).ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	require.NoError(t, err)
	assert.Equal(t, "n", list.(*v1beta1.NodeImageList).Items[0].Name)
	assert.Equal(t, "GET /apis/apps.kruise.io/v1beta1/nodeimages?fieldSelector=metadata.name%3Dn&resourceVersion=0  ", asked())
}

func TestTrim(t *testing.T) {
	image := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "n", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}}
	trimmed, err := cluster.Trim(image)
	require.NoError(t, err)
	assert.Equal(t, &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, trimmed)
}
