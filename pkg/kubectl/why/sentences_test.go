package why

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
)

// Case kubectl-plugin 30: facts of one cause that need a sentence of their own.
func TestSentencesOfOneCause(t *testing.T) {
	container := func(state string) string {
		return "{status: {phase: Running, containerStatuses: [{name: main, " + state + "}]}}"
	}
	warned := func(f *Facts) { f.Warnings = []string{"FailedMount: secret s not found."} }
	for name, test := range map[string]struct {
		pod  string
		with func(*Facts)
		want string
	}{
		"no scheduler": {pod: "{spec: {schedulerName: mine}}",
			want: "has no node: scheduler mine has not tried to find one; check that this scheduler runs."},
		"scheduling gate": {pod: `{spec: {schedulingGates: [{name: a/b}]}, status: {conditions: [{type: PodScheduled, status: "False"}]}}`,
			want: "has no node: it has the scheduling gate a/b; ask the program that removes this gate."},
		"container that has ended": {pod: container("state: {terminated: {exitCode: 3}}"),
			want: "has a container main that has ended with exit code 3; run: kubectl logs web-1 -c main."},
		"container that does not run": {pod: container("state: {waiting: {reason: ContainerCreating}}"),
			want: "has a container main that does not run; look at the events of the Pod."},
		"container that does not run, with a warning": {pod: container("state: {waiting: {reason: ContainerCreating}}"), with: warned,
			want: "has a container main that does not run: FailedMount: secret s not found; correct the cause."},
		"not ready": {pod: "{status: {phase: Running}}", want: "is not ready; look at the events of the Pod."},
		"protected by a budget, and refused before": {pod: "{metadata: {annotations: {pub.kruise.io/related-pub: b}}, " + ready + "}",
			with: func(f *Facts) {
				f.Budgets = []*v1beta1.PodUnavailableBudget{{ObjectMeta: metav1.ObjectMeta{Name: "b"}}}
				warned(f)
			},
			want: "is available, and PodUnavailableBudget b refuses to disrupt it; make other Pods available, " +
				"or annotate the Pod with pub.kruise.io/no-protect=true."},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(t)
			f.Pod = pod(t, test.pod)
			if test.with != nil {
				test.with(f)
			}
			assert.Equal(t, "Pod web-1 "+test.want, Explain(f).String())
		})
	}
}

// A rollout whose Pods are all updated is not complete while a hook holds the deletion of one of them.
func TestScaleInThatAHookHolds(t *testing.T) {
	f := facts(t, "replicas: 3, minReady", "replicas: 1, minReady", "updatedReplicas: 1", "updatedReplicas: 3")
	f.Pods = []*corev1.Pod{pod(t, "{metadata: {labels: {lifecycle.apps.kruise.io/state: PreparingDelete, hold: delete}}, "+ready+"}")}
	assert.Equal(t, "CloneSet web waits for Pod web-1, which is held by its preDelete hook in state PreparingDelete: it has the label hold=delete; "+
		"remove it from the Pod when the work of the hook is done.", Explain(f).String())
	f.Pods = nil
	assert.Equal(t, "CloneSet web deletes Pods: it has 3 and wants 1; wait.", Explain(f).String())
}

// The controller of a DaemonSet does not count its spec as observed while it cannot create Pods.
func TestWarningAboutASpecThatIsNotObserved(t *testing.T) {
	f := facts(t, "observedGeneration: 2", "observedGeneration: 1")
	f.Warnings = []string{"FailedCreate: exceeded quota", "older"}
	assert.Equal(t, "CloneSet web has a change that the controller has not observed, and a warning: FailedCreate: exceeded quota; "+
		"correct the cause, or check that the Pods of kruise-controller-manager in kruise-system run.", Explain(f).String())
}

// The warnings about the first Pod that is not available explain it, and not another one.
func TestWarningsOfAPodOfAWorkload(t *testing.T) {
	f := facts(t)
	f.PodWarnings, f.Warnings = []string{"FailedMount: secret s not found"}, []string{"other"}
	creating := `{metadata: {name: NAME}, 
		status: {containerStatuses: [{name: main, state: {waiting: {reason: ContainerCreating}}}]}}`
	f.Pods = []*corev1.Pod{pod(t, strings.ReplaceAll(creating, "NAME", "a")), pod(t, strings.ReplaceAll(creating, "NAME", "b"))}
	assert.Equal(t, "CloneSet web waits for Pod a, which has a container main that does not run: FailedMount: secret s not found; correct the cause.",
		Explain(f).String())
}

// Case kubectl-plugin 30a.
func TestWarningsThatExplainTheStateOfAPod(t *testing.T) {
	assert.Zero(t, current(nil))
	for status, want := range map[string]string{
		"{}": "0001-01-01T00:00:00Z",
		`{conditions: [{type: PodScheduled, status: "False", lastTransitionTime: "2026-01-01T10:00:00Z"}]}`: "0001-01-01T00:00:00Z",
		`{conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2026-01-01T10:00:00Z"},
			{type: Ready, status: "False", lastTransitionTime: "2026-01-01T11:00:00Z"}]}`: "2026-01-01T10:00:00Z",
		`{conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2026-01-01T10:00:00Z"},
			{type: Ready, status: "True", lastTransitionTime: "2026-01-01T11:00:00Z"}]}`: "2026-01-01T11:00:00Z",
	} {
		assert.Equal(t, want, current(pod(t, "{status: "+status+"}")).UTC().Format(time.RFC3339), status)
	}
}
