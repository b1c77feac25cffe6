package controller

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/protectionlog"
	"kruise.io/kruise/pkg/workload/disruption"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/refusals"
)

var (
	now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	set = &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "0"}}
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
	for _, err := range []error{
		nil, assert.AnError, &disruption.Refusal{Reason: disruption.NotObserved}, fmt.Errorf("update: %w", &disruption.Refusal{}),
	} {
		for _, deps := range []*Deps{{BudgetRefusals: counter}, {}} {
			deps.Recorder = func(string) record.EventRecorder { return record.NewFakeRecorder(10) }
			deps.Clock = clocktesting.NewFakePassiveClock(now)
			require.Equal(t, err, newTraced(given{err}, deps).Reserve(t.Context(), set, kinds.CloneSet, pod))
		}
	}
	value, err := testutil.GetCounterMetricValue(counter.WithLabelValues("CloneSet_shop_web", "kruise-manager"))
	require.NoError(t, err)
	assert.InDelta(t, 1, value, 0)
}

// Case metrics 2b.
// A Pod that waits is refused in each pass, about once a second.
func TestPodThatWaitsForABudgetIsReportedOnce(t *testing.T) {
	const line = `{"Event":"PodUnavailableBudget","Kind":"Pod","Namespace":"shop","Name":"web-0","UserAgent":"kruise-manager"}` + "\n"
	var log bytes.Buffer
	recorder, clock := record.NewFakeRecorder(10), clocktesting.NewFakePassiveClock(now)
	budget := newTraced(nil, &Deps{
		Clock: clock, ProtectionLog: protectionlog.New(&log), Recorder: func(component string) record.EventRecorder {
			assert.Equal(t, "pub-controller", component)
			return recorder
		},
	})
	reported := func(err error) bool {
		t.Helper()
		log.Reset()
		budget.Budget = given{err}
		require.Equal(t, err, budget.Reserve(t.Context(), set, kinds.CloneSet, pod))
		if len(recorder.Events) == 0 {
			assert.Empty(t, log.String())
			return false
		}
		assert.Contains(t, <-recorder.Events, "Warning PubPreventPodDeletion PodUnavailableBudget shop/b: pub unavailable allowed is negative")
		assert.Equal(t, line, log.String())
		return true
	}
	refusal := &disruption.Refusal{Reason: disruption.Exhausted, Namespace: "shop", Name: "b"}
	assert.False(t, reported(&disruption.Refusal{Reason: disruption.NotObserved}))
	assert.True(t, reported(refusal))
	for second := range 90 {
		clock.SetTime(now.Add(time.Duration(second) * time.Second))
		assert.False(t, reported(refusal))
	}
	assert.False(t, reported(nil), "the budget allows the update")
	assert.True(t, reported(refusal), "it waits again")
	clock.SetTime(now.Add(time.Hour))
	assert.True(t, reported(refusal), "an hour later, for another update")
}
