package controller

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/refusals"
)

// given is a budget that gives one answer.
type given struct{ err error }

func (g given) Reserve(context.Context, metav1.Object, schema.GroupKind, *corev1.Pod) error {
	return g.err
}

// Case metrics 2a.
// An update in place that a budget refuses is counted like a deletion that the webhook refuses.
func TestUpdatesThatABudgetRefusesAreCounted(t *testing.T) {
	counter := refusals.NewCounter("pod_unavailable_budget", "Refusals.", "kind_namespace_name")
	metrics.NewKubeRegistry().MustRegister(counter.CounterVec)
	set := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	for _, err := range []error{
		nil, assert.AnError, &disruption.Refusal{Reason: disruption.NotObserved}, fmt.Errorf("update: %w", &disruption.Refusal{}),
	} {
		require.Equal(t, err, counted{given{err}, counter}.Reserve(t.Context(), set, kinds.CloneSet, nil))
		require.Equal(t, err, counted{given{err}, nil}.Reserve(t.Context(), set, kinds.CloneSet, nil))
	}
	value, err := testutil.GetCounterMetricValue(counter.WithLabelValues("CloneSet_shop_web", "kruise-manager"))
	require.NoError(t, err)
	assert.InDelta(t, 1, value, 0)
}
