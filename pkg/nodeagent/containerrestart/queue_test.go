package containerrestart

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Case containerrecreaterequest 29.
func TestRequestsOfOnePodRunInOrderOfCreation(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one := func(name string, age time.Duration, phase v1beta1.ContainerRecreateRequestPhase) *request {
		return &request{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(at.Add(-age))},
			Status:     v1beta1.ContainerRecreateRequestStatus{Phase: phase},
		}
	}
	done := one("done", time.Hour, "")
	done.Status.CompletionTime = new(metav1.NewTime(at))
	going := one("going", time.Hour, "Recreating")
	going.DeletionTimestamp = new(metav1.NewTime(at))
	tests := map[string]struct {
		requests []*request
		want     []string
	}{
		"none":                              {nil, nil},
		"those that are over":               {[]*request{done, going, one("completed", time.Hour, "Completed")}, nil},
		"the one that was begun":            {[]*request{one("old", time.Hour, "Pending"), one("begun", 0, "Recreating")}, []string{"begun", "old"}},
		"by age":                            {[]*request{one("new", 0, ""), one("old", time.Hour, "")}, []string{"old", "new"}},
		"of one second, by name":            {[]*request{one("b", 0, ""), one("a", 0, "")}, []string{"a", "b"}},
		"told to wait before an older one":  {[]*request{one("old", time.Hour, ""), one("new", 0, "Pending")}, []string{"old", "new"}},
		"one that is over leaves its place": {[]*request{one("b", time.Minute, "Pending"), done, one("c", 0, "")}, []string{"b", "c"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, r := range queue(tc.requests) {
				names = append(names, r.Name)
			}
			assert.Equal(t, tc.want, names)
		})
	}
}
