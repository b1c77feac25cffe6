package podprober

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/nodeagent/agenttest"
	"kruise.io/kruise/pkg/nodeagent/cri"
)

// Cases podprobemarker 1, 4.
func TestProbesOfOneContainerHaveResultsOfTheirOwn(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.does("good", succeeds("fine"))
		w.runtime.does("bad", fails("broken"))
		w.begin()
		agenttest.Pass(5 * time.Second)
		assert.Equal(t, []string{"m#good Succeeded fine", "m#bad Failed broken"}, w.shows())
		assert.Equal(t, []string{"Normal KruiseProbeFailed broken", "Normal KruiseProbeSucceeded fine"}, w.told())
		assert.Equal(t, "uid-web", w.get().Status.PodProbeStatuses[0].UID)
		writes := w.writes()
		agenttest.Pass(5 * time.Minute)
		assert.Equal(t, writes, w.writes(), "a result that stays is not written again")
		assert.Empty(t, w.told())
		agenttest.Pass(6 * time.Minute)
		assert.Equal(t, writes+1, w.writes(), "the times are refreshed")
	}, entry("web", command("m#good", "good"), command("m#bad", "bad")))
}

// Case podprobemarker 2.
func TestFailuresCountFromTheThresholdOn(t *testing.T) {
	three := func(p *v1alpha1.ContainerProbe) { p.Probe.FailureThreshold, p.Probe.SuccessThreshold = 3, 2 }
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.does("check", succeeds("fine"))
		w.begin()
		agenttest.Pass(5*time.Second + 500*time.Millisecond)
		before := w.state("web", "m#check")
		assert.Equal(t, v1alpha1.ProbeSucceeded, before.State)
		var failures atomic.Int32
		w.runtime.does("check", func(ctx context.Context, timeout time.Duration) (stdout, stderr string, err error) {
			return fails(fmt.Sprint("broken ", failures.Add(1)))(ctx, timeout)
		})
		for failures.Load() < 2 {
			agenttest.Pass(100 * time.Millisecond)
		}
		agenttest.Pass(500 * time.Millisecond)
		assert.Equal(t, v1alpha1.ProbeSucceeded, w.state("web", "m#check").State)
		agenttest.Pass(time.Second)
		after := w.state("web", "m#check")
		assert.Equal(t, v1alpha1.ProbeFailed, after.State)
		assert.Equal(t, "broken 3", after.Message)
		assert.True(t, before.LastTransitionTime.Before(&after.LastTransitionTime))
		agenttest.Pass(20 * time.Second)
		assert.Equal(t, after.LastTransitionTime, w.state("web", "m#check").LastTransitionTime)
		assert.Len(t, w.told(), 2, "one event for each state")
	}, entry("web", command("m#check", "check", three)))
}

// Cases podprobemarker 9, 14.
func TestProbesThatAreNoLongerListedStop(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.start("uid-old", "main", "B")
		w.runtime.does("check", succeeds(""))
		w.begin()
		agenttest.Pass(5 * time.Second)
		assert.Equal(t, []string{"m#a Succeeded", "m#b Succeeded", "m#a Succeeded"}, w.shows())
		w.change(func(n *v1alpha1.NodePodProbe) {
			n.Spec.PodProbes = []v1alpha1.PodProbe{entry("web", command("m#b", "check"))}
		})
		agenttest.Pass(5 * time.Second)
		assert.Equal(t, []string{"m#b Succeeded"}, w.shows())
		ran := len(w.runtime.ran("B"))
		agenttest.Pass(10 * time.Second)
		assert.Len(t, w.runtime.ran("B"), ran)
		w.change(func(n *v1alpha1.NodePodProbe) { n.Spec.PodProbes = nil })
		agenttest.Pass(5 * time.Second)
		assert.Empty(t, w.shows())
	}, entry("web", command("m#a", "check"), command("m#b", "check")), entry("old", command("m#a", "check")))
}

// A store that was restored has older versions than the last write of the agent, and has lost that write.
func TestStateIsWrittenAgainToARestoredStore(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.does("check", succeeds(""))
		written := w.get()
		written.ResourceVersion = "1000"
		written.Status.PodProbeStatuses = []v1alpha1.PodProbeStatus{{Namespace: "ns", Name: "web", UID: "uid-web", ProbeStates: []v1alpha1.ContainerProbeState{
			{Name: "m#a", State: v1alpha1.ProbeSucceeded},
		}}}
		lost := true
		w.client.PrependReactor("patch", "nodepodprobes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return lost, written.DeepCopy(), nil
		})
		w.begin()
		agenttest.Pass(2 * time.Second)
		lost = false
		w.change(func(n *v1alpha1.NodePodProbe) { n.ResourceVersion = "5" })
		agenttest.Pass(20 * time.Second)
		assert.Empty(t, w.shows(), "the cache may only be late")
		agenttest.Pass(12 * time.Second)
		assert.Equal(t, []string{"m#a Succeeded"}, w.shows())
	}, entry("web", command("m#a", "check", period(1))))
}

// TestClockThatIsSetBackDelaysNoProbe starts a container before the clock is set back by an hour.
func TestClockThatIsSetBackDelaysNoProbe(t *testing.T) {
	delayed := func(p *v1alpha1.ContainerProbe) { p.Probe.InitialDelaySeconds = 7 }
	inWorld(t, func(w *world) {
		w.runtime.does("check", succeeds("one"))
		w.runtime.start("uid-web", "main", "A")
		w.runtime.started["A"] = time.Now().Add(time.Hour)
		w.begin()
		agenttest.Pass(9 * time.Second)
		assert.Equal(t, []string{"m#check Succeeded one"}, w.shows())
	}, entry("web", command("m#check", "check", delayed)))
}

// TestStartOfAContainerIsMonotonic shows that later changes of the clock have no effect on the delay of a probe.
func TestStartOfAContainerIsMonotonic(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct{ started, want time.Time }{
		"before":        {now.Round(0).Add(-time.Minute), now.Add(-time.Minute)},
		"in the future": {now.Round(0).Add(time.Hour), now},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, since(now, test.started), "with the monotonic reading")
		})
	}
}

// Cases podprobemarker 11, 12.
func TestRestartOfAContainer(t *testing.T) {
	delayed := func(p *v1alpha1.ContainerProbe) { p.Probe.InitialDelaySeconds = 7 }
	inWorld(t, func(w *world) {
		w.runtime.does("check", succeeds("one"))
		w.begin()
		agenttest.Pass(5 * time.Second)
		assert.Empty(t, w.shows(), "a container that does not exist yet has no result")
		began := time.Now()
		w.runtime.start("uid-web", "main", "A")
		agenttest.Pass(9 * time.Second)
		assert.Equal(t, 7*time.Second, w.runtime.ran("A")[0].Sub(began).Truncate(time.Second))
		assert.Equal(t, []string{"m#check Succeeded one"}, w.shows())

		w.runtime.does("check", succeeds("two"))
		w.runtime.exit("A")
		w.runtime.start("uid-web", "main", "B")
		began = time.Now()
		agenttest.Pass(6 * time.Second)
		assert.Equal(t, []string{"m#check Succeeded one"}, w.shows(), "the result stays until there is a new one")
		agenttest.Pass(leastPause)
		assert.Equal(t, 7*time.Second, w.runtime.ran("B")[0].Sub(began).Truncate(time.Second))
		assert.Equal(t, []string{"m#check Succeeded two"}, w.shows())

		w.runtime.exit("B")
		agenttest.Pass(5 * time.Second)
		assert.Equal(t, []string{"m#check Failed Container(main) is Non-running"}, w.shows())
	}, entry("web", command("m#check", "check", delayed)))
}

// Case podprobemarker 20.
func TestRestartOfTheAgentChangesNoState(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.does("check", succeeds("fine"))
		w.begin()
		agenttest.Pass(5 * time.Second)
		before := w.state("web", "m#check")
		w.told()
		w.stop()
		writes := w.writes()
		w.begin()
		agenttest.Pass(time.Minute)
		assert.Equal(t, before, w.state("web", "m#check"))
		assert.Equal(t, writes, w.writes())
		assert.Empty(t, w.told())
		w.stop()
		w.runtime.does("check", fails("broken"))
		w.begin()
		agenttest.Pass(5 * time.Second)
		assert.Equal(t, v1alpha1.ProbeFailed, w.state("web", "m#check").State)
	}, entry("web", command("m#check", "check")))
}

// Case podprobemarker 21.
func TestCallsOfTheRuntimeThatFailChangeNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.does("check", succeeds("fine"))
		w.begin()
		agenttest.Pass(5 * time.Second)
		before, writes := w.get().Status, w.writes()
		w.runtime.does("check", breaks)
		agenttest.Pass(30 * time.Second)
		assert.Equal(t, before, w.get().Status)
		assert.Equal(t, writes, w.writes())
		w.runtime.does("check", takes(time.Hour, succeeds("")))
		agenttest.Pass(10 * time.Second)
		assert.Equal(t, []string{"m#check Failed the command failed: timed out"}, w.shows())
	}, entry("web", command("m#check", "check")))
}

// Cases podprobemarker 23, 32.
func TestMessagesThatAlwaysChangeCostFewWrites(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.does("check", succeeds("data"))
		w.begin()
		agenttest.Pass(20 * time.Second)
		before := w.state("web", "m#check")
		w.runtime.does("check", succeeds("gate"))
		agenttest.Pass(3 * time.Second)
		after := w.state("web", "m#check")
		assert.Equal(t, "gate", after.Message, "a single change is written soon")
		assert.Equal(t, before.LastTransitionTime, after.LastTransitionTime)

		w.runtime.does("check", func(context.Context, time.Duration) (stdout, stderr string, err error) {
			return time.Now().String(), "", nil
		})
		writes := w.writes()
		agenttest.Pass(10 * time.Minute)
		// The pauses are 20 s, 40 s, 80 s, 160 s and then 5 min.
		assert.LessOrEqual(t, w.writes()-writes, 6)
		shown := w.state("web", "m#check")
		assert.LessOrEqual(t, time.Since(shown.LastProbeTime.Time), longestPause+messageInterval)
		assert.NotEqual(t, "gate", shown.Message)
		assert.Len(t, w.told(), 1)

		// A message that is quiet for long is written soon again.
		w.runtime.does("check", succeeds("data"))
		agenttest.Pass(15 * time.Minute)
		assert.Equal(t, "data", w.state("web", "m#check").Message)
		w.runtime.does("check", succeeds("gate"))
		// The status may have been refreshed just before, and the next write of a message waits for that interval.
		agenttest.Pass(messageInterval + 3*time.Second)
		assert.Equal(t, "gate", w.state("web", "m#check").Message)

		// A changed state is written at once, with its message.
		w.runtime.does("check", fails("down"))
		agenttest.Pass(3 * time.Second)
		assert.Equal(t, []string{"m#check Failed down"}, w.shows())
	}, entry("web", command("m#check", "check")))
}

// A probe that succeeds and fails in turn costs at most one write in a second.
func TestStatesThatAlwaysChangeAreWrittenAtABoundedRate(t *testing.T) {
	var entries []v1alpha1.PodProbe
	for i := range 50 {
		entries = append(entries, entry(fmt.Sprint("web-", i), command("m#check", "check")))
	}
	inWorld(t, func(w *world) {
		var runs atomic.Int64
		w.runtime.does("check", func(ctx context.Context, d time.Duration) (stdout, stderr string, err error) {
			if runs.Add(1)%7 < 3 {
				return succeeds("")(ctx, d)
			}
			return fails("")(ctx, d)
		})
		for i := range 50 {
			w.runtime.start(fmt.Sprint("uid-web-", i), "main", fmt.Sprint("A", i))
		}
		w.begin()
		agenttest.Pass(time.Minute)
		assert.LessOrEqual(t, w.writes(), 60*writesPerSecond+writeBurst)
	}, entries...)
}

func TestChangesOfAProbeTakeEffect(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.start("uid-web", "side", "B")
		w.runtime.does("check", succeeds("fine"))
		w.begin()
		agenttest.Pass(time.Hour + 30*time.Minute)
		ran := len(w.runtime.ran("A"))
		assert.Positive(t, ran)
		set := func(cmd string, edits ...func(*v1alpha1.ContainerProbe)) {
			w.change(func(n *v1alpha1.NodePodProbe) {
				n.Spec.PodProbes = []v1alpha1.PodProbe{entry("web", command("m#check", cmd, edits...))}
			})
		}
		set("check", period(10))
		agenttest.Pass(100 * time.Second)
		assert.InDelta(t, 10, len(w.runtime.ran("A"))-ran, 1, "the new period counts at once")

		set("absent", period(3600))
		agenttest.Pass(3 * time.Second)
		assert.Equal(t, []string{"m#check Failed not found"}, w.shows(), "a new command runs at once")
		set("check", period(3600), func(p *v1alpha1.ContainerProbe) { p.ContainerName = "side" })
		agenttest.Pass(3 * time.Second)
		assert.Len(t, w.runtime.ran("B"), 1)
		assert.Equal(t, []string{"m#check Succeeded fine"}, w.shows())
	}, entry("web", command("m#check", "check", period(3600))))
}

// The API has another UID for a static Pod than the runtime, so its containers are never found.
func TestContainerThatNeverExistsIsLookedForSeldom(t *testing.T) {
	inWorld(t, func(w *world) {
		w.begin()
		agenttest.Pass(30 * time.Minute)
		w.runtime.mu.Lock()
		assert.LessOrEqual(t, w.runtime.lists, 70)
		w.runtime.mu.Unlock()
		assert.Empty(t, w.shows())
		w.runtime.does("check", succeeds("fine"))
		w.runtime.start("uid-static", "main", "A")
		agenttest.Pass(longestAbsentRetry + 5*time.Second)
		assert.Equal(t, []string{"m#check Succeeded fine"}, w.shows())
	}, entry("static", command("m#check", "check", period(1))))
}

// An outcome of the old command does not count for the new one.
func TestOutcomesOfAnOlderHandlerAreDropped(t *testing.T) {
	slow := func(p *v1alpha1.ContainerProbe) { p.Probe.TimeoutSeconds = 60 }
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.does("old", takes(20*time.Second, fails("old")))
		w.runtime.does("new", succeeds("new"))
		w.begin()
		agenttest.Pass(5 * time.Second)
		w.change(func(n *v1alpha1.NodePodProbe) {
			n.Spec.PodProbes = []v1alpha1.PodProbe{entry("web", command("m#check", "new", slow, period(600)))}
		})
		agenttest.Pass(40 * time.Second)
		assert.Equal(t, []string{"m#check Succeeded new"}, w.shows())
		assert.Equal(t, []string{"Normal KruiseProbeSucceeded new"}, w.told())
	}, entry("web", command("m#check", "old", slow)))
}

// Pods whose probes hang use up no place of others.
func TestHangingProbesDelayNoOtherPod(t *testing.T) {
	var entries []v1alpha1.PodProbe
	long := func(p *v1alpha1.ContainerProbe) { p.Probe.TimeoutSeconds = 3600 }
	for i := range 109 {
		var probes []v1alpha1.ContainerProbe
		for j := range 20 {
			probes = append(probes, command(fmt.Sprint("m#", j), "hang", long))
		}
		entries = append(entries, entry(fmt.Sprint("bad-", i), probes...))
	}
	good := entry("good", command("m#a", "check"), command("m#b", "check"), command("m#c", "check"))
	inWorld(t, func(w *world) {
		for i := range 109 {
			w.runtime.start(fmt.Sprint("uid-bad-", i), "main", fmt.Sprint("bad-", i))
		}
		w.runtime.start("uid-good", "main", "good")
		w.runtime.does("hang", takes(2*time.Hour, succeeds("")))
		w.runtime.does("check", takes(50*time.Millisecond, succeeds("")))
		w.begin()
		agenttest.Pass(10 * time.Second)
		began := time.Now()
		agenttest.Pass(100 * time.Second)
		runs := 0
		for _, at := range w.runtime.ran("good") {
			if at.After(began) {
				runs++
			}
		}
		assert.InDelta(t, 300, runs, 3)
		for i := range 109 {
			assert.LessOrEqual(t, len(w.runtime.ran(fmt.Sprint("bad-", i))), perPod)
		}
	}, append(entries, good)...)
}

// Probes of one Pod run at the same time, for as long as the agent runs.
func TestProbesOfAPodRunAtTheSameTime(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.does("check", takes(900*time.Millisecond, succeeds("")))
		w.begin()
		agenttest.Pass(200 * time.Second)
		assert.InDelta(t, 800, len(w.runtime.ran("A")), 20)
	}, entry("web", command("m#a", "check"), command("m#b", "check"), command("m#c", "check"), command("m#d", "check")))
}

// Case podprobemarker 28: a runtime does not say that a command ended with 127, but that it could not start it.
func TestCommandThatDoesNotExist(t *testing.T) {
	refuses := func(context.Context, time.Duration) (stdout, stderr string, err error) {
		return "", "", fmt.Errorf("%w: no such file", cri.ErrNotStarted)
	}
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.does("check", succeeds("fine"))
		w.begin()
		agenttest.Pass(5 * time.Second)
		var ended atomic.Bool
		w.runtime.does("check", func(ctx context.Context, timeout time.Duration) (stdout, stderr string, err error) {
			ended.Store(true)
			w.runtime.exit("A")
			w.runtime.start("uid-web", "main", "B")
			w.runtime.does("check", refuses)
			return refuses(ctx, timeout)
		})
		for !ended.Load() {
			agenttest.Pass(10 * time.Millisecond)
		}
		agenttest.Pass(500 * time.Millisecond)
		assert.Equal(t, []string{"m#check Succeeded fine"}, w.shows(), "a container that ends is no failure of the command")
		agenttest.Pass(4 * time.Second)
		assert.Equal(t, []string{"m#check Failed not started: no such file"}, w.shows())
	}, entry("web", command("m#check", "check")))
}

func TestProbesOfAPodShareOneList(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.does("check", succeeds(""))
		w.begin()
		agenttest.Pass(100 * time.Second)
		assert.LessOrEqual(t, w.runtime.lists, 115)
	}, entry("web", command("m#a", "check"), command("m#b", "check"), command("m#c", "check")))
}

// Case podprobemarker 13: the messages of all probes together fit into the object.
func TestStatusIsBounded(t *testing.T) {
	var status v1alpha1.NodePodProbeStatus
	for i := range 2000 {
		long := strings.Repeat("é", 512)
		if i%2 == 0 {
			long = "short"
		}
		status.PodProbeStatuses = append(status.PodProbeStatuses, v1alpha1.PodProbeStatus{
			Name: fmt.Sprint(i), ProbeStates: []v1alpha1.ContainerProbeState{{Name: "m#p", State: v1alpha1.ProbeFailed, Message: long}},
		})
	}
	shorten(&status)
	total := 0
	for i := range status.PodProbeStatuses {
		message := status.PodProbeStatuses[i].ProbeStates[0].Message
		total += len(message)
		if i%2 == 0 {
			assert.Equal(t, "short", message)
		}
	}
	assert.LessOrEqual(t, total, maxMessages)
	assert.Greater(t, total, maxMessages/3)
}

func TestNodePodProbeThatIsReplaced(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runtime.start("uid-web", "main", "A")
		w.runtime.does("check", succeeds("fine"))
		w.begin()
		agenttest.Pass(5 * time.Second)
		nodes := w.client.AppsV1alpha1().NodePodProbes()
		assert.NoError(t, nodes.Delete(t.Context(), node, metav1.DeleteOptions{}))
		agenttest.Pass(3 * time.Second)
		ran := len(w.runtime.ran("A"))
		agenttest.Pass(10 * time.Second)
		assert.Len(t, w.runtime.ran("A"), ran, "without a NodePodProbe nothing is probed")
		again := &v1alpha1.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: node, UID: "uid-2"}}
		again.Spec.PodProbes = []v1alpha1.PodProbe{entry("web", command("m#check", "check"))}
		_, err := nodes.Create(t.Context(), again, metav1.CreateOptions{})
		assert.NoError(t, err)
		agenttest.Pass(5 * time.Second)
		assert.Equal(t, []string{"m#check Succeeded fine"}, w.shows())
		synctest.Wait()
	}, entry("web", command("m#check", "check")))
}
