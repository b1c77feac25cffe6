package podprober

import (
	"time"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
)

// The pause before a message of a Pod is written again, if the states of its probes stay. It doubles while only the message changes.
const leastPause, longestPause = 20 * time.Second, 5 * time.Minute

// pace limits how often messages of one Pod are written. Each of them costs another write, of the Pod, which all its watchers get. A
// message can change in each run, such as a time or a count.
type pace struct {
	// next is when a message may be written again. pause was the time until then.
	next  time.Time
	pause time.Duration
}

type paces map[podKey]pace

// hold replaces new messages by the published ones, for Pods whose states stay and which have to wait. It returns the time until the
// first of them may be written, or zero.
func (p paces) hold(published, status *v1alpha1.NodePodProbeStatus, now time.Time) (wait time.Duration) {
	states := publishedIn(published)
	for i := range status.PodProbeStatuses {
		entry := &status.PodProbeStatuses[i]
		left := p[keyOf(entry)].next.Sub(now)
		if left <= 0 || differOfPod(states, entry) != message {
			continue
		}
		for j := range entry.ProbeStates {
			entry.ProbeStates[j].Message = states[probeKey{keyOf(entry), entry.ProbeStates[j].Name}].Message
		}
		if wait == 0 || left < wait {
			wait = left
		}
	}
	return wait
}

// wrote notes what a write has changed. published is what was there before. Pods that are not in the status any more are dropped.
func (p paces) wrote(published, status *v1alpha1.NodePodProbeStatus, now time.Time) {
	states := publishedIn(published)
	listed := map[podKey]bool{}
	for i := range status.PodProbeStatuses {
		entry := &status.PodProbeStatuses[i]
		key := keyOf(entry)
		listed[key] = true
		before := p[key]
		switch differOfPod(states, entry) {
		case state:
			p[key] = pace{now.Add(leastPause), leastPause}
		case message:
			pause := leastPause
			// The message changes again, soon after it could be written.
			if now.Sub(before.next) < before.pause {
				pause = min(2*before.pause, longestPause)
			}
			p[key] = pace{now.Add(pause), pause}
		case same:
		}
	}
	for key := range p {
		if !listed[key] {
			delete(p, key)
		}
	}
}
