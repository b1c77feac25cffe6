package serverclock

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics/testutil"
)

// start is a whole second, as the header has.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a server and a machine with clocks of their own.
type world struct {
	t         *testing.T
	own       time.Time
	server    time.Time
	monotonic time.Duration
	// delay is how long an answer takes on its way.
	delay time.Duration
	clock *Clock
}

func newWorld(t *testing.T, ahead time.Duration) *world {
	t.Helper()
	w := &world{t: t, own: start.Add(ahead), server: start}
	w.clock = New()
	w.clock.wall, w.clock.elapsed = func() time.Time { return w.own }, func() time.Duration { return w.monotonic }
	return w
}

func (w *world) metric() float64 {
	w.t.Helper()
	value, err := testutil.GetGaugeMetricValue(offsetMetric)
	require.NoError(w.t, err)
	return value
}

func (w *world) pass(d time.Duration) {
	w.server, w.own, w.monotonic = w.server.Add(d), w.own.Add(d), w.monotonic+d
}

// get sends a request for a path. The answer has the header Date unless date is empty.
func (w *world) get(path string, date ...string) {
	w.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		written := []string{w.server.UTC().Format(http.TimeFormat)}
		if date != nil {
			written = date
		}
		answer.Header()["Date"] = written
		w.pass(w.delay)
	}))
	defer server.Close()
	client := &http.Client{Transport: w.clock.Wrap(server.Client().Transport)}
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, server.URL+path, http.NoBody)
	require.NoError(w.t, err)
	response, err := client.Do(request)
	require.NoError(w.t, err)
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(w.t, err)
	require.NoError(w.t, response.Body.Close())
}

// wrong returns by how much the clock differs from that of the server.
func (w *world) wrong() time.Duration { return w.clock.Now().Sub(w.server).Abs() }

const pods = "/api/v1/pods"

func TestTimeOfTheServerIsTold(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, 4 * time.Second, -4 * time.Second} {
		w := newWorld(t, ahead)
		assert.Equal(t, ahead.Abs(), w.wrong(), "nothing is known before the first answer")
		w.get(pods)
		assert.LessOrEqual(t, w.wrong(), time.Second, "%s ahead", ahead)
		assert.Equal(t, w.clock.Offset().Seconds(), w.metric())
		assert.LessOrEqual(t, (w.clock.Offset() + ahead).Abs(), time.Second, "%s ahead", ahead)
		began := w.clock.Now()
		w.pass(time.Minute)
		assert.Equal(t, time.Minute, w.clock.Since(began))
		assert.LessOrEqual(t, w.wrong(), time.Second, "%s ahead", ahead)
	}
}

func TestOwnTimeIsKeptWithinTheTolerance(t *testing.T) {
	for _, ahead := range []time.Duration{0, 1900 * time.Millisecond, -1900 * time.Millisecond} {
		w := newWorld(t, ahead)
		w.get(pods)
		assert.Equal(t, ahead.Abs(), w.wrong(), "%s ahead", ahead)
		assert.Zero(t, w.clock.Offset())
	}
}

func TestChangesOfTheOwnClockHaveNoEffect(t *testing.T) {
	w := newWorld(t, time.Second)
	w.get(pods)
	w.own = w.own.Add(time.Hour)
	assert.Equal(t, time.Second, w.wrong())
	assert.Equal(t, -time.Hour, w.clock.Offset())
}

func TestServerWhoseClockChangesIsFollowed(t *testing.T) {
	w := newWorld(t, 0)
	w.get(pods)
	w.server = w.server.Add(time.Hour)
	w.get(pods)
	assert.Equal(t, time.Hour, w.wrong(), "the last answer is a moment ago")
	w.pass(settle)
	w.get(pods)
	assert.LessOrEqual(t, w.wrong(), time.Second)
}

func TestSlowAnswersChangeNothing(t *testing.T) {
	w := newWorld(t, 0)
	w.delay = time.Minute
	w.get(pods)
	assert.Zero(t, w.wrong())
}

// Other servers answer below /apis/, with clocks of their own.
func TestOnlyKubeAPIServerIsAsked(t *testing.T) {
	w := newWorld(t, time.Hour)
	for _, path := range []string{"/apis/apps.kruise.io/v1beta1/clonesets", "/apis", "/readyz"} {
		w.get(path)
		assert.Equal(t, time.Hour, w.wrong(), path)
	}
}

func TestInvalidDatesAreIgnored(t *testing.T) {
	w := newWorld(t, time.Hour)
	for _, date := range []string{"", "yesterday", "2026-03-01T12:00:00Z"} {
		w.get(pods, date)
		assert.Equal(t, time.Hour, w.wrong(), date)
	}
}
