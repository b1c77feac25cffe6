package podprober

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// A new PodProbeMarker starts the probes of all its Pods at once. In the periods that follow, they run one after the other, and each
// exactly once in a period.
func TestProbesThatBeginTogetherDriftApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pods, period = 200, 10 * time.Second
		var mu, seen sync.Mutex
		ran := map[string][]time.Time{}
		s := newSchedule(clock.RealClock{}, &mu, func(_ context.Context, p *probe) rerun {
			seen.Lock()
			defer seen.Unlock()
			ran[p.key.pod.name] = append(ran[p.key.pod.name], time.Now())
			return rerun{}
		})
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		mu.Lock()
		for i := range pods {
			key := probeKey{pod: podKey{name: fmt.Sprint("web-", i)}, name: "m#p"}
			s.add(&probe{key: key, spec: corev1.Probe{PeriodSeconds: 10}}, "", began)
		}
		mu.Unlock()
		var running sync.WaitGroup
		running.Go(func() { s.Run(ctx) })
		<-time.After(4 * period)
		cancel()
		running.Wait()

		inSecond := map[int]int{}
		for pod, times := range ran {
			assert.Equal(t, began, times[0], "the first result does not wait")
			assert.LessOrEqual(t, times[1].Sub(times[0]), period, pod)
			assert.Equal(t, period, times[2].Sub(times[1]), pod)
			assert.Equal(t, period, times[3].Sub(times[2]), pod)
			inSecond[int(times[2].Sub(began)%period/time.Second)]++
		}
		assert.Len(t, ran, pods)
		for second, runs := range inSecond {
			assert.Less(t, runs, pods/3, "in second %d of a period", second)
		}
	})
}
