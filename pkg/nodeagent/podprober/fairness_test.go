package podprober

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
)

// On a node whose commands take longer than their period, each probe of each Pod still runs again and again.
func TestSlowCommandsStarveNoProbe(t *testing.T) {
	patient := func(p *v1alpha1.ContainerProbe) { p.Probe.TimeoutSeconds = 10 }
	const pods = 110
	var entries []v1alpha1.PodProbe
	for i := range pods {
		entries = append(entries, entry(fmt.Sprint("web-", i), command("m#slow", "slow", patient), command("m#a", "a"), command("m#b", "b")))
	}
	inWorld(t, func(w *world) {
		for i := range pods {
			w.runtime.start(fmt.Sprint("uid-web-", i), "main", fmt.Sprint("web-", i))
		}
		w.runtime.does("slow", takes(4*time.Second, succeeds("")))
		w.runtime.does("a", takes(5*time.Millisecond, succeeds("")))
		w.runtime.does("b", takes(5*time.Millisecond, succeeds("")))
		w.begin()
		agenttest.Pass(time.Minute)
		w.runtime.mu.Lock()
		defer w.runtime.mu.Unlock()
		runs := map[string]int{}
		for _, e := range w.runtime.execs {
			runs[e.id+" "+e.command]++
		}
		for i := range pods {
			for _, command := range []string{"slow", "a", "b"} {
				assert.GreaterOrEqual(t, runs[fmt.Sprintf("web-%d %s", i, command)], 10, "web-%d %s", i, command)
			}
		}
	}, entries...)
}
