package review

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-base/metrics/testutil"
)

// An operator sees the reviews that fail, and not the requests that plugins refuse as they should.
func TestReviewsAreCountedByCode(t *testing.T) {
	registerMetrics()
	count := func(code string) float64 {
		value, err := testutil.GetCounterMetricValue(reviewsAnswered.WithLabelValues("podreviews", code))
		require.NoError(t, err)
		return value
	}
	ok, internal, bad := count("200"), count("500"), count("400")
	for _, result := range []error{nil, apierrors.NewForbidden(corev1.Resource("pods"), "web", errors.New("no")), errors.New("broken")} {
		_, err := answer(t, Plugins{"first": &judge{Handler: admission.NewHandler(admission.Delete), err: result}}, deletion())
		assert.Equal(t, result != nil && !apierrors.IsForbidden(result), err != nil)
	}
	_, err := answer(t, Plugins{}, nil)
	require.Error(t, err)
	assert.InDelta(t, ok+2, count("200"), 0)
	assert.InDelta(t, internal+1, count("500"), 0)
	assert.InDelta(t, bad+1, count("400"), 0)
	observed, err := testutil.GetHistogramMetricCount(reviewSeconds.WithLabelValues("podreviews"))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, observed, uint64(4))
	waiting, err := testutil.GetGaugeMetricValue(reviewsInFlight.WithLabelValues("podreviews"))
	require.NoError(t, err)
	assert.Zero(t, waiting)
}
