package status_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/nodeagent/status"
)

var report = status.Report{Agent: "v0.1.0", Runtimes: []string{"containerd 2.1.0", "cri-o 1.34.0"}}

func events(t *testing.T, client *fake.Clientset) []corev1.Event {
	t.Helper()
	list, err := client.CoreV1().Events(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

func reporter(client *fake.Clientset, node string) *status.Reporter {
	return &status.Reporter{Events: client.CoreV1().Events(metav1.NamespaceDefault), Node: node, Clock: clock.RealClock{}}
}

func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		start := time.Now()
		reporter(client, "node-1").Report(t.Context(), report)
		got := events(t, client)
		require.Len(t, got, 1)
		assert.Equal(t, "default", got[0].Namespace)
		assert.Equal(t, corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "node-1", UID: "node-1"}, got[0].InvolvedObject)
		assert.Equal(t, "Node agent v0.1.0 runs on containerd 2.1.0, cri-o 1.34.0", got[0].Message)
		assert.Equal(t, corev1.EventSource{Component: "kruise-daemon", Host: "node-1"}, got[0].Source)

		<-time.After(time.Minute)
		reporter(client, "node-1").Report(t.Context(), report)
		got = events(t, client)
		require.Len(t, got, 1, "a restart with the same versions adds no event")
		assert.EqualValues(t, 2, got[0].Count)
		assert.True(t, got[0].FirstTimestamp.Time.Equal(start))
		assert.True(t, got[0].LastTimestamp.Time.Equal(start.Add(time.Minute)))

		reporter(client, "node-1").Report(t.Context(), status.Report{Agent: "v0.2.0", Runtimes: report.Runtimes})
		reporter(client, "node-2").Report(t.Context(), report)
		assert.Len(t, events(t, client), 3, "another version or node is another event")
	})
}

func TestReportOnLongNodeName(t *testing.T) {
	client := fake.NewClientset()
	node := strings.Repeat("a", 220) + "." + strings.Repeat("b", 32)
	reporter(client, node).Report(t.Context(), report)
	got := events(t, client)
	require.Len(t, got, 1)
	assert.Empty(t, validation.IsDNS1123Subdomain(got[0].Name))
	assert.Equal(t, node, got[0].InvolvedObject.Name)
}

func TestReportFailures(t *testing.T) {
	resource := corev1.Resource("events")
	tests := map[string]struct {
		err       error
		failures  int
		wantTries int
		want      int
	}{
		"the API is away for a while": {errors.New("connection refused"), 3, 4, 1},
		"a refusal is not repeated":   {apierrors.NewForbidden(resource, "", nil), 9, 1, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				tries := 0
				client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
					tries++
					return tries <= test.failures, nil, test.err
				})
				reporter(client, "node-1").Report(t.Context(), report)
				assert.Equal(t, test.wantTries, tries)
				assert.Len(t, events(t, client), test.want)
			})
		})
	}
}

func TestReportEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("connection refused")
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			reporter(client, "node-1").Report(ctx, report)
		}()
		<-time.After(30 * time.Minute)
		select {
		case <-done:
			assert.Fail(t, "it gave up while the API may return")
		default:
		}
		<-time.After(31 * time.Minute)
		<-done
	})
}
