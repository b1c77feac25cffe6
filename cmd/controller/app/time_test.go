package app

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/serverclock"
)

// The first answer of kube-apiserver ends the wait, even if it refuses the request.
func TestControllersWaitForTheTimeOfKubeAPIServer(t *testing.T) {
	for _, code := range []int{http.StatusOK, http.StatusForbidden} {
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
			assert.Equal(t, "/api/v1", request.URL.Path)
			if asked.Add(1) == 1 {
				panic(http.ErrAbortHandler) // No answer.
			}
			answer.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
			answer.WriteHeader(code)
		}))
		clock := serverclock.New()
		config := &rest.Config{Host: server.URL}
		config.Wrap(clock.Wrap)
		kube, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		(&Config{deps: controller.Deps{Kube: kube}}).readTime(t.Context())
		assert.WithinDuration(t, time.Now().Add(time.Hour), clock.Now(), 5*time.Second)
		assert.GreaterOrEqual(t, asked.Load(), int32(2))
		server.Close()
	}
}
