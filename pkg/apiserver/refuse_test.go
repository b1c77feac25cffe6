package apiserver

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

type fixedGate struct{ check, ready error }

func (g fixedGate) Check() error { return g.check }
func (g fixedGate) Ready() error { return g.ready }

// TestClosedStoreRefusesObjectsAlone checks that discovery, reviews and liveness probes still work.
func TestClosedStoreRefusesObjectsAlone(t *testing.T) {
	scheme, err := NewScheme()
	require.NoError(t, err)
	closed := fixedGate{apierrors.NewServiceUnavailable("the store is closed: wiped"), errors.New("the store is closed: wiped")}
	tests := map[string]struct {
		gate     fixedGate
		path     string
		want     int
		wantText string
	}{
		"object":           {closed, "/apis/apps.kruise.io/v1beta1/namespaces/ns/clonesets/c", 503, "the store is closed: wiped"},
		"list":             {closed, "/apis/policy.kruise.io/v1beta1/podunavailablebudgets", 503, "the store is closed: wiped"},
		"subresource":      {closed, "/apis/apps.kruise.io/v1beta1/namespaces/ns/clonesets/c/scale", 503, "the store is closed: wiped"},
		"discovery":        {closed, "/apis/apps.kruise.io/v1beta1", 200, ""},
		"groups":           {closed, "/apis", 200, ""},
		"review":           {closed, "/apis/admission.kruise.io/v1/podreviews", 200, ""},
		"life":             {closed, "/livez", 200, ""},
		"readiness":        {closed, "/readyz", 500, "the store is closed: wiped"},
		"open":             {fixedGate{}, "/apis/apps.kruise.io/v1beta1/namespaces/ns/clonesets/c", 200, ""},
		"open but away":    {fixedGate{ready: errors.New("etcd is away")}, "/apis/apps.kruise.io/v1beta1/namespaces/ns/clonesets/c", 200, ""},
		"readiness, away":  {fixedGate{ready: errors.New("etcd is away")}, "/readyz", 500, "etcd is away"},
		"readiness, ready": {fixedGate{}, "/readyz", 200, ""},
	}
	resolver := &genericapirequest.RequestInfoFactory{APIPrefixes: sets.NewString("apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			handler := refuseWithoutStore(test.gate, GroupNames(), serializer.NewCodecFactory(scheme),
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil)
			info, err := resolver.NewRequestInfo(request)
			require.NoError(t, err)
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request.WithContext(genericapirequest.WithRequestInfo(request.Context(), info)))
			assert.Equal(t, test.want, answer.Code)
			assert.Contains(t, answer.Body.String(), test.wantText)
		})
	}
}
