package live

import (
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/kubectl/polymorphic"
	"kruise.io/kruise/pkg/kubectl/workload"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/lifecycle"
	"kruise.io/kruise/pkg/workload/podstate"
)

const (
	// width is the number of columns of the view, and bar that of its bar.
	width, bar = 80, 40
	// shown is the maximum number of Pods in the view.
	shown = 12
)

// Model is what the view shows. Workload is nil if it is gone; Ended says why then.
type Model struct {
	Workload *workload.Workload
	Progress workload.Progress
	Pods     []*corev1.Pod
	// Why says why there is no progress. It is read less often than the rest.
	Why string
	// Notice is the result of the last key.
	Notice string
	// Ended is the reason for which nothing changes any more.
	Ended string
}

// Done reports whether the rollout is complete, or the workload is gone.
func (m *Model) Done() bool { return m.Ended != "" || m.Workload != nil && m.Progress.Done() }

// Line returns the rollout in one line.
func Line(m *Model) string {
	if m.Ended != "" {
		return m.Ended
	}
	text, _ := polymorphic.Sentence(m.Workload, m.Progress)
	if m.Progress.Paused && !m.Progress.Done() {
		text += " (paused)"
	}
	return text
}

// View returns the view as text of 80 columns. It is a pure function, so tests compare its text.
func View(m *Model) string {
	if m.Workload == nil {
		return fit(m.Ended) + "\n"
	}
	p := m.Progress
	lines := []string{
		fmt.Sprintf("%s %s/%s", m.Workload.Title, m.Workload.GetNamespace(), m.Workload.GetName()),
		"revision " + p.Revision,
		"",
		fmt.Sprintf("updated    %s %d of %d", gauge(p.Updated, p.Target), p.Updated, p.Target),
		fmt.Sprintf("available  %s %d of %d", gauge(p.Available, p.Wanted), p.Available, p.Wanted),
		"",
	}
	lines = append(lines, pods(m)...)
	lines = append(lines, "", Line(m))
	// A finished rollout needs no reason.
	if !p.Done() {
		lines = append(lines, wrap(m.Why)...)
	}
	if m.Notice != "" {
		lines = append(lines, m.Notice)
	}
	lines = append(lines, "p pause   r resume   u undo   q quit")
	for i := range lines {
		lines[i] = fit(lines[i])
	}
	return strings.Join(lines, "\n") + "\n"
}

// whyLines is the maximum number of lines of the reason.
const whyLines = 3

// wrap breaks a text into lines of the width of the view. What does not fit into whyLines is cut, and the cut is
// shown.
func wrap(text string) (lines []string) {
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		switch {
		case last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width:
			lines[last] += " " + word
		case last+1 == whyLines:
			lines[last] = cut(lines[last]+" "+word, width)
			return lines
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// gauge draws a part of a whole. Nothing of nothing is complete.
func gauge(part, whole int) string {
	full := bar
	if whole > 0 {
		full = min(bar, part*bar/whole)
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", bar-full) + "]"
}

// pods returns the lines about Pods. Pods that a rollout waits for come first. At most shown Pods are listed, and the
// others are counted.
func pods(m *Model) (lines []string) {
	if len(m.Pods) == 0 {
		return []string{"no Pods"}
	}
	lines = append(lines, fmt.Sprintf("%-40s %-8s %-6s %s", "POD", "UPDATED", "READY", "STATE"))
	// First those that are old, not ready or terminating, then the finished ones.
	for _, settled := range []bool{false, true} {
		for _, pod := range m.Pods {
			updated := history.Matches(pod.Labels[pub.ControllerRevisionHashKey], m.Progress.Revision)
			if (updated && podstate.Ready(pod) && pod.DeletionTimestamp == nil) == settled {
				lines = append(lines, fmt.Sprintf("%-40s %-8s %-6s %s", tail(pod.Name, 40), yes(updated), yes(podstate.Ready(pod)), state(pod)))
			}
		}
	}
	if more := len(lines) - 1 - shown; more > 0 {
		lines = append(lines[:shown+1], fmt.Sprintf("and %d more", more))
	}
	return lines
}

// state names what happens to a Pod: its deletion, a state of a lifecycle hook that takes it out of service, why a
// container waits, or its phase.
func state(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return "Terminating"
	case !lifecycle.Serves(lifecycle.Of(pod)):
		return string(lifecycle.Of(pod))
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Waiting != nil && status.State.Waiting.Reason != "" {
			return status.State.Waiting.Reason
		}
	}
	return string(pod.Status.Phase)
}

// yes returns the word for a column.
func yes(condition bool) string {
	if condition {
		return "yes"
	}
	return "no"
}

// tail shortens a name to a number of columns and keeps its end, in which the names of Pods differ.
func tail(name string, columns int) string {
	if len(name) <= columns {
		return name
	}
	return "…" + name[len(name)-columns+1:]
}

// fit makes a line as wide as the view at most, without spaces at its end.
func fit(line string) string { return strings.TrimRight(cut(line, width), " ") }

// cut shortens a text to a number of columns, each of which has one character.
func cut(text string, columns int) string {
	if utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:columns-1]) + "…"
}
