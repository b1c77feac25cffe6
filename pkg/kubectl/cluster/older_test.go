package cluster

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// server answers requests by their method and path. Each answer but the last one is given once. It records the requests.
type server struct {
	t        *testing.T
	answers  map[string][]answer
	requests []string
	bodies   []string
	older    Older
}

type answer struct {
	code int
	body string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	assert.NoError(s.t, err)
	what := r.Method + " " + r.URL.RequestURI()
	s.requests, s.bodies = append(s.requests, what), append(s.bodies, string(body))
	given := answer{http.StatusNotFound, `{"kind":"Status","apiVersion":"v1"}`}
	if all := s.answers[what]; len(all) > 0 {
		given, s.answers[what] = all[0], all[min(1, len(all)-1):]
	}
	w.WriteHeader(given.code)
	_, _ = io.WriteString(w, given.body)
}

// send sends a request through the transport.
func (s *server) send(method, path, kind, body string) (code int, answered string) {
	s.t.Helper()
	at := httptest.NewServer(s)
	defer at.Close()
	request, err := http.NewRequestWithContext(s.t.Context(), method, at.URL+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("Content-Type", kind)
	response, err := s.older.Wrap(http.DefaultTransport).RoundTrip(request)
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, response.Body.Close()) }()
	data, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, string(data)
}

const (
	prefix    = "/proxy/apis/apps.kruise.io/"
	web       = "/namespaces/ns/clonesets/web"
	resources = `{"kind":"APIResourceList","resources":[{"name":"clonesets"}]}`
	none      = `{"kind":"APIResourceList","resources":[]}`
	storedSet = `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"name":"web","resourceVersion":"7"},` +
		`"spec":{"new":1,"replicas":1}}`
	mergePatch  = "application/merge-patch+json"
	onlyOld     = "GET " + prefix + "v1alpha1"
	onlyNew     = "GET " + prefix + "v1beta1"
	patchOfWeb  = "PATCH " + prefix + "v1alpha1" + web + "?dryRun=All"
	readOfWeb   = "GET " + prefix + "v1alpha1" + web
	betaPathWeb = prefix + "v1beta1" + web
)

func newServer(t *testing.T, answers map[string][]answer) *server {
	t.Helper()
	all := map[string][]answer{onlyOld: {{200, resources}}, onlyNew: {{200, none}}, readOfWeb: {{200, storedSet}}}
	maps.Copy(all, answers)
	return &server{t: t, answers: all}
}

func TestPatchIsMadeAgainAfterAnotherWrite(t *testing.T) {
	s := newServer(t, map[string][]answer{patchOfWeb: {{409, `{"kind":"Status"}`}, {200, storedSet}}})
	code, body := s.send(http.MethodPatch, betaPathWeb+"?dryRun=All", mergePatch, `{"spec":{"replicas":2}}`)
	assert.Equal(t, 200, code)
	assert.Contains(t, body, `"apiVersion":"apps.kruise.io/v1beta1"`)
	assert.Equal(t, []string{
		"PATCH " + betaPathWeb + "?dryRun=All", onlyNew, onlyOld, readOfWeb, patchOfWeb, readOfWeb, patchOfWeb,
	}, s.requests)
	assert.JSONEq(t, `{"metadata":{"resourceVersion":"7"},"spec":{"replicas":2}}`, s.bodies[6])

	// The version is known now. A patch that names another resourceVersion is not made again.
	s.answers[patchOfWeb], s.requests = []answer{{409, `{"kind":"Status"}`}}, nil
	code, _ = s.send(http.MethodPatch, betaPathWeb+"?dryRun=All", mergePatch, `{"metadata":{"resourceVersion":"6"}}`)
	assert.Equal(t, 409, code)
	assert.Equal(t, []string{readOfWeb, patchOfWeb}, s.requests)

	// A write that never succeeds ends with its conflict.
	s.requests = nil
	code, _ = s.send(http.MethodPatch, betaPathWeb+"?dryRun=All", mergePatch, `{"spec":{"replicas":2}}`)
	assert.Equal(t, 409, code)
	assert.Len(t, s.requests, 2*patchAttempts)
}

func TestPatchThatCannotBeAppliedIsRefused(t *testing.T) {
	s := newServer(t, nil)
	code, body := s.send(http.MethodPatch, betaPathWeb, "application/json-patch+json", `[{"op":"test","path":"/spec/replicas","value":9}]`)
	assert.Equal(t, 422, code)
	assert.Contains(t, body, "testing value /spec/replicas failed")
}

func TestObjectThatDoesNotExistIsNotFound(t *testing.T) {
	for name, test := range map[string]struct {
		answers  map[string][]answer
		requests []string
	}{
		"served in v1beta1":   {map[string][]answer{onlyNew: {{200, resources}}}, []string{"GET " + betaPathWeb, onlyNew}},
		"served in v1alpha1":  {map[string][]answer{readOfWeb: {{404, "{}"}}}, []string{"GET " + betaPathWeb, onlyNew, onlyOld, readOfWeb}},
		"no answer":           {map[string][]answer{onlyNew: {{503, "no"}}}, []string{"GET " + betaPathWeb, onlyNew}},
		"no list of resource": {map[string][]answer{onlyNew: {{200, "no"}}}, []string{"GET " + betaPathWeb, onlyNew}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, test.answers)
			code, _ := s.send(http.MethodGet, betaPathWeb, "", "")
			assert.Equal(t, 404, code)
			assert.Equal(t, test.requests, s.requests)
		})
	}
}

func TestOtherAnswersStayAsTheyAre(t *testing.T) {
	s := newServer(t, map[string][]answer{
		"GET /api/v1/pods": {{415, "pods"}}, "GET " + betaPathWeb + "/scale": {{200, "scale"}},
		readOfWeb + "/scale":         {{200, `{"kind":"Scale","apiVersion":"autoscaling/v1"}`}},
		"GET " + prefix + "v1beta1/": {{404, "none"}},
	})
	for path, want := range map[string]string{
		"/api/v1/pods": "pods", betaPathWeb + "/scale": "scale",
		prefix + "v1alpha1" + web + "/scale": `{"kind":"Scale","apiVersion":"autoscaling/v1"}`,
		prefix + "v1beta1/":                  "none",
	} {
		_, body := s.send(http.MethodGet, path, "", "")
		assert.Equal(t, want, body)
	}
}

func TestConversionKeepsWhatIsNoObject(t *testing.T) {
	for _, data := range []string{`<html>`, `{"kind":"Status","apiVersion":"v1"}`, `{"kind":"Other","apiVersion":"apps.kruise.io/v1alpha1"}`} {
		converted, err := convert([]byte(data), newer)
		require.NoError(t, err)
		assert.Equal(t, data, string(converted))
	}
	list, err := convert([]byte(`{"kind":"CloneSetList","apiVersion":"apps.kruise.io/v1alpha1",`+
		`"metadata":{"resourceVersion":"3"},"items":[`+storedSet+`]}`), newer)
	require.NoError(t, err)
	assert.Contains(t, string(list), `"resourceVersion":"3"`)
	assert.Equal(t, 2, strings.Count(string(list), `"apiVersion":"apps.kruise.io/v1beta1"`))
	_, err = convert([]byte(`{"kind":"CloneSet","apiVersion":"apps.kruise.io/v1alpha1","spec":1}`), newer)
	assert.ErrorContains(t, err, "read apps.kruise.io/v1alpha1, Kind=CloneSet")
}
