package controller

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// outageServer is an API server with an outage.
type outageServer struct {
	until  time.Time
	probes int
}

func (s *outageServer) answer() error {
	if time.Now().Before(s.until) {
		return errors.New("connection refused")
	}
	return nil
}

func (s *outageServer) informer() cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(listsOnly{&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, s.answer()
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewFake(), s.answer()
		},
	}}, &corev1.Pod{}, 0, nil)
}

// listsOnly is a source that informers list before they watch it.
type listsOnly struct{ *cache.ListWatch }

func (listsOnly) IsWatchListSemanticsUnSupported() bool { return true }

// After a long outage, caches are in use again within three seconds, and all of them share one probe each second.
func TestCachesReturnSoonAfterALongOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(io.Discard)))))
		server := &outageServer{until: time.Now().Add(10 * time.Minute)}
		caches := &Caches{started: map[cache.SharedIndexInformer]bool{}, outages: map[bool]*outage{true: {probe: func(context.Context) error {
			server.probes++
			return server.answer()
		}}}}
		needs := make([]Need, 0, 5)
		for range 5 {
			needs = append(needs, Need{Informer: server.informer(), Kruise: true})
		}
		caches.Start(ctx, needs)
		require.True(t, cache.WaitForCacheSync(ctx.Done(), needs[0].Informer.HasSynced, needs[1].Informer.HasSynced,
			needs[2].Informer.HasSynced, needs[3].Informer.HasSynced, needs[4].Informer.HasSynced))
		assert.Less(t, time.Since(server.until), 3*time.Second)
		assert.LessOrEqual(t, server.probes, 602)
		cancel()
		caches.Wait()
	})
}

func TestRefusalEndsAnOutage(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"none":         {nil, true},
		"forbidden":    {apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no")), true},
		"not found":    {apierrors.NewNotFound(corev1.Resource("pods"), ""), true},
		"throttled":    {apierrors.NewTooManyRequests("later", 1), true},
		"unavailable":  {apierrors.NewServiceUnavailable("no backend"), false},
		"not a status": {http.ErrServerClosed, false},
	} {
		assert.Equal(t, tc.want, answers(tc.err), name)
	}
}
