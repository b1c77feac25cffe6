package cloneset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
)

// The clock of the controller differs from the clocks of the nodes by an hour. Nothing happens to Pods that are up to date, and
// a rollout takes no more Pods out of service than allowed. It may be late: a clock that is behind sees new Pods as not available
// for an hour.
func TestWrongClockCausesNoMassAction(t *testing.T) {
	for name, offset := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		for policy, change := range map[string]func(*v1beta1.CloneSetSpec){"recreated": nil, "in place": inPlaceIfPossible} {
			t.Run(name+" and "+policy, func(t *testing.T) {
				w := rolled(t, "", newSet(10, knobs("", "2", ""), func(s *v1beta1.CloneSetSpec) {
					s.MinReadySeconds = 30
					if change != nil {
						change(s)
					}
					s.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 5}
				}))
				w.wait(time.Minute)
				w.settle()
				require.EqualValues(t, 10, w.set().Status.AvailableReplicas)
				names := w.names()
				w.Clock.SetTime(controllertest.Now.Add(offset))
				w.settle()
				assert.Equal(t, names, w.names(), "Pods that are up to date stay")

				w.edit(image("app:2"))
				for range 20 {
					w.settle()
					w.Clock.SetTime(w.Clock.Now().Add(time.Minute))
					w.node.Now = w.node.Now.Add(time.Minute)
				}
				assert.LessOrEqual(t, w.most, 10)
				assert.GreaterOrEqual(t, w.least, 8)
			})
		}
	}
}
