package health_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/workload/health"
	"kruise.io/kruise/pkg/workload/kinds"
)

var (
	conditions = health.Conditions[metav1.Condition]{
		New: func(conditionType string, now metav1.Time) metav1.Condition {
			return metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, LastTransitionTime: now}
		},
		Fields: func(c *metav1.Condition) (conditionType string, reason, message *string) {
			return c.Type, &c.Reason, &c.Message
		},
	}
	start   = metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	settled = kinds.Progress{Target: 4, Updated: 4, Available: 4, Wanted: 4, Existing: 4, Serving: 4}
)

// others are the conditions that another party owns.
func others() []metav1.Condition {
	return []metav1.Condition{{Type: "FailedScale"}, {Type: "Progressing"}}
}

func TestConditionsComeAndGoWithTheRollout(t *testing.T) {
	assert.Equal(t, others(), conditions.Set(others(), &settled, start), "an object as its spec asks for has neither condition")

	updating := settled
	updating.Updated = 1
	got := conditions.Set(others(), &updating, start)
	reconciling := metav1.Condition{
		Type: health.Reconciling, Status: metav1.ConditionTrue, LastTransitionTime: start, Reason: kinds.RolloutUnderWay,
		Message: "Pods of older revisions are left",
	}
	assert.Equal(t, append(others(), reconciling), got)

	later := metav1.NewTime(start.Add(time.Minute))
	updating.Updated = 3
	assert.Equal(t, got, conditions.Set(got, &updating, later), "another number changes nothing")

	unavailable := settled
	unavailable.Serving = 3
	before := slices.Clone(got)
	after := conditions.Set(got, &unavailable, later)
	assert.Equal(t, before, got, "the given slice stays as it was")
	assert.Equal(t, kinds.PodsUnavailable, after[2].Reason)
	assert.Equal(t, start, after[2].LastTransitionTime, "the time moves only with the status")

	updating.Exceeded = true
	stalled := conditions.Set(got, &updating, later)
	assert.Len(t, stalled, 3, "never both")
	assert.Equal(t, []string{health.Stalled, "ProgressDeadlineExceeded"}, []string{stalled[2].Type, stalled[2].Reason})
	assert.Equal(t, later, stalled[2].LastTransitionTime)
	updating.Paused = true
	assert.Equal(t, health.Reconciling, conditions.Set(stalled, &updating, later)[2].Type, "a deadline does not count during a pause")

	assert.Equal(t, others(), conditions.Set(stalled, &settled, later))
	assert.Equal(t, others(), conditions.Set(stalled, nil, later), "progress that is not known")
}
