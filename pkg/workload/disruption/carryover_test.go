package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

func TestCarryOver(t *testing.T) {
	at := func(seconds int) map[string]metav1.Time {
		return map[string]metav1.Time{"p": metav1.NewTime(now.Add(time.Duration(seconds) * time.Second))}
	}
	type status = v1beta1.PodUnavailableBudgetStatus
	tests := map[string]struct{ from, to, want status }{
		"a deletion":                   {from: status{DisruptedPods: at(3)}, want: status{DisruptedPods: at(3)}},
		"an update":                    {from: status{UnavailablePods: at(3)}, want: status{UnavailablePods: at(3)}},
		"with the first grant":         {from: status{DisruptedPods: at(3), RenewedPods: at(0)}, want: status{DisruptedPods: at(3), RenewedPods: at(0)}},
		"a newer one is there":         {from: status{DisruptedPods: at(3)}, to: status{UnavailablePods: at(4)}, want: status{UnavailablePods: at(4)}},
		"the same one is there":        {from: status{DisruptedPods: at(3)}, to: status{DisruptedPods: at(3)}, want: status{DisruptedPods: at(3)}},
		"an older one is there":        {from: status{DisruptedPods: at(3)}, to: status{UnavailablePods: at(2), RenewedPods: at(0)}, want: status{DisruptedPods: at(3)}},
		"an older deletion is there":   {from: status{UnavailablePods: at(3)}, to: status{DisruptedPods: at(2)}, want: status{UnavailablePods: at(3)}},
		"its first grant, and another": {from: status{UnavailablePods: at(3), RenewedPods: at(1)}, to: status{UnavailablePods: at(2), RenewedPods: at(0)}, want: status{UnavailablePods: at(3), RenewedPods: at(1)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			grants := GrantsOf(&test.from)
			require.Len(t, grants, 1)
			CarryOver(&test.to, newPod("p"), grants["p"])
			assert.Equal(t, GrantsOf(&test.want), GrantsOf(&test.to))
			assert.Len(t, test.to.RenewedPods, len(test.want.RenewedPods))
		})
	}
}
