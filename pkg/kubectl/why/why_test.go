package why

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/kubectl/workload"
	"kruise.io/kruise/pkg/workload/podstate"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// cloneSet is a CloneSet with one updated Pod of three.
const cloneSet = `{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet,
metadata: {name: web, generation: 2 META},
spec: {replicas: 3, minReadySeconds: 10, updateStrategy: {STRATEGY},
  lifecycle: {preDelete: {labelsHandler: {hold: delete}}, inPlaceUpdate: {finalizersHandler: [hold/update]}, preNormal: {labelsHandler: {ok: normal}}}},
status: {observedGeneration: 2, updateRevision: web-new, replicas: 3, updatedReplicas: 1, updatedAvailableReplicas: 1 STATUS}}`

// facts returns the facts about the CloneSet with replacements.
func facts(t *testing.T, replacements ...string) *Facts {
	t.Helper()
	text := strings.NewReplacer(append(replacements, " META", "", "STRATEGY", "", " STATUS", "")...).Replace(cloneSet)
	object := &unstructured.Unstructured{}
	encoded, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, object.UnmarshalJSON(encoded))
	w, err := workload.Of(object)
	require.NoError(t, err)
	progress, err := w.Progress()
	require.NoError(t, err)
	return &Facts{Now: now, Workload: w, Progress: progress}
}

// pod returns a Pod at the newest revision from JSON in the form of YAML. It has a node unless the text says something about that.
func pod(t *testing.T, text string) *corev1.Pod {
	t.Helper()
	found := &corev1.Pod{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), found), text)
	if found.Name == "" {
		found.Name = "web-1"
	}
	if podstate.Condition(found, corev1.PodScheduled) == nil && found.Spec.SchedulerName == "" {
		found.Spec.NodeName = "n1"
	}
	if found.Labels == nil {
		found.Labels = map[string]string{}
	}
	if found.Labels["controller-revision-hash"] == "" {
		found.Labels["controller-revision-hash"] = "web-new"
	}
	return found
}

const ready = `status: {phase: Running, conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-01T11:00:00Z"}]}`

// Case kubectl-plugin 30: causes of workloads.
func TestCausesOfWorkloads(t *testing.T) {
	paused := "rollingUpdate: {paused: true}"
	partition := "rollingUpdate: {partition: 2}"
	for cause, test := range map[string]struct {
		facts []string
		with  func(*Facts)
		want  string
	}{
		"being deleted": {facts: []string{" META", `, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [a/b]`},
			want: "CloneSet web is being deleted and has the finalizer a/b; wait, or ask who set the finalizer."},
		"spec not observed": {facts: []string{"observedGeneration: 2", "observedGeneration: 1"},
			want: "CloneSet web has a change that the controller has not observed; check that the Pods of kruise-controller-manager in kruise-system run."},
		"creation or deletion fails": {facts: []string{" STATUS", `, conditions: [{type: FailedScale, status: "True", message: "exceeded quota:\n pods."}]`},
			want: "CloneSet web has the condition FailedScale: exceeded quota: pods; correct the cause; the controller then retries."},
		"complete": {facts: []string{"updatedReplicas: 1, updatedAvailableReplicas: 1", "updatedReplicas: 3, updatedAvailableReplicas: 3"},
			want: "CloneSet web is complete: 3 of 3 Pods are updated and available; there is nothing to do."},
		"paused": {facts: []string{"STRATEGY", paused},
			want: "CloneSet web is paused with 1 of 3 Pods updated; run: kubectl kruise rollout resume clonesets.apps.kruise.io/web."},
		"updated by the user": {facts: []string{"STRATEGY", "type: OnDelete"},
			want: "CloneSet web has the update strategy OnDelete with 1 of 3 Pods updated; delete the old Pods yourself."},
		"kept by the partition": {facts: []string{"STRATEGY", partition},
			want: "CloneSet web has 1 of 3 Pods updated, as many as its partition allows; lower the partition to update more Pods."},
		"budget used up": {with: func(f *Facts) {
			f.Budgets = []*v1beta1.PodUnavailableBudget{{
				ObjectMeta: metav1.ObjectMeta{Name: "b"}, Status: v1beta1.PodUnavailableBudgetStatus{CurrentAvailable: 2, DesiredAvailable: 2},
			}}
			f.Pods = []*corev1.Pod{pod(t, `{metadata: {labels: {controller-revision-hash: web-old}, annotations: {kruise.io/related-pub: b}}, `+ready+"}")}
		}, want: "CloneSet web cannot update Pod web-1 because PodUnavailableBudget b allows no unavailable Pod: 2 are available, 2 must be; " +
			"make Pods available or raise the budget: run kubectl kruise why podunavailablebudget/b."},
		"update fails": {facts: []string{" STATUS", `, conditions: [{type: FailedUpdate, status: "True", message: "refused"}]`},
			want: "CloneSet web has the condition FailedUpdate: refused; correct the cause; the controller then retries."},
		"a Pod waits": {with: func(f *Facts) {
			f.Pods = []*corev1.Pod{
				pod(t, `{metadata: {name: old, labels: {controller-revision-hash: web-old}}, status: {phase: Failed}}`),
				pod(t, `{status: {conditions: [{type: PodScheduled, status: "False", message: "0/3 nodes are available."}]}}`),
			}
		}, want: "CloneSet web waits for Pod web-1, which has no node: 0/3 nodes are available; change its requests, its node selection, its claims or the nodes."},
		"deadline exceeded": {facts: []string{" STATUS", `, conditions: [{type: Progressing, status: "False", message: "timed out"}]`},
			want: "CloneSet web made no progress before its deadline: timed out; run: kubectl kruise rollout undo clonesets.apps.kruise.io/web."},
		"last warning": {with: func(f *Facts) { f.Warnings = []string{"FailedCreate: quota", "older"} },
			want: "CloneSet web has a warning: FailedCreate: quota; correct the cause; the controller then retries."},
		"in progress": {want: "CloneSet web is in progress: 1 of 3 Pods are updated, 2 are not available; wait."},
	} {
		t.Run(cause, func(t *testing.T) {
			f := facts(t, test.facts...)
			if test.with != nil {
				test.with(f)
			}
			assert.Equal(t, test.want, Explain(f).String())
			assert.Equal(t, cause, causeOf(workloadCauses, f))
		})
	}
	assert.Len(t, workloadCauses, 13, "every cause has its case above")
}

func causeOf(causes []Cause, f *Facts) string {
	for _, cause := range causes {
		if cause.Find(f) != nil {
			return cause.Name
		}
	}
	return ""
}

// Case kubectl-plugin 30: causes of Pods.
func TestCausesOfPods(t *testing.T) {
	container := func(state string) string {
		return "{status: {phase: Running, containerStatuses: [{name: main, image: 'nginx:2', restartCount: 4, " + state + "}]}}"
	}
	for cause, test := range map[string]struct {
		pod  string
		with func(*Facts)
		want string
	}{
		"held by a finalizer": {pod: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [a/b]}}`,
			want: "is being deleted and has the finalizer a/b; remove the finalizer when its owner has finished."},
		"finished": {pod: "{status: {phase: Failed}}", want: "has ended with the phase Failed; look at its logs: it does not run again."},
		"held by the hook preDelete": {pod: "{metadata: {labels: {lifecycle.apps.kruise.io/state: PreparingDelete, hold: delete}}}",
			want: "is held by its preDelete hook in state PreparingDelete: it has the label hold=delete; " +
				"remove it from the Pod when the work of the hook is done."},
		"held by the hook inPlaceUpdate before the update": {
			pod: "{metadata: {finalizers: [hold/update], labels: {lifecycle.apps.kruise.io/state: PreparingUpdate}}}",
			want: "is held by its inPlaceUpdate hook in state PreparingUpdate: it has the finalizer hold/update; " +
				"remove it from the Pod when the work of the hook is done."},
		"not scheduled": {pod: `{status: {conditions: [{type: PodScheduled, status: "False", message: "no node"}]}}`,
			want: "has no node: no node; change its requests, its node selection, its claims or the nodes."},
		"image": {pod: "{spec: {containers: [{name: main, image: 'nginx:none'}]}, " +
			strings.TrimPrefix(container("state: {waiting: {reason: ImagePullBackOff, message: not found}}"), "{"),
			want: "cannot start container main with image nginx:none: ImagePullBackOff: not found; correct the Pod template."},
		"launch order": {pod: `{spec: {containers: [{name: main, env: [{name: KRUISE_CONTAINER_BARRIER,
			valueFrom: {configMapKeyRef: {name: web-1-barrier, key: p_5}}}]}]},
			status: {containerStatuses: [{name: main, state: {waiting: {reason: CreateContainerConfigError}}}]}}`,
			want: "holds container main back until those above priority 5 are ready; make the containers with a higher priority ready."},
		"configuration": {pod: container("state: {waiting: {reason: CreateContainerConfigError, message: secret s}}"),
			want: "cannot start container main with image nginx:2: CreateContainerConfigError: secret s; correct the Pod template."},
		"crash": {pod: container("state: {waiting: {reason: CrashLoopBackOff}}"),
			want: "has a container main that has ended 4 times; run: kubectl logs web-1 -c main --previous."},
		"grace period": {pod: "{metadata: {annotations: {apps.kruise.io/inplace-update-grace: '{}'}}}",
			want: "is out of service for the grace period of its update in place; wait, or shorten gracePeriodSeconds."},
		"update in place": {pod: `{spec: {nodeName: n1}, status: {conditions: [{type: InPlaceUpdateReady, status: "False"}]}}`,
			want: "is being updated in place on node n1; wait until the node has restarted its containers, " +
				"and look at the events of the Pod if it does not."},
		"waits for the hook inPlaceUpdate after the update": {pod: "{metadata: {labels: {lifecycle.apps.kruise.io/state: Updated}}, " + ready + "}",
			want: "waits for its inPlaceUpdate hook in state Updated: it does not have the finalizer hold/update; " +
				"add it to the Pod when the work of the hook is done."},
		"kept out of service": {
			pod:  `{status: {conditions: [{type: KruisePodReady, status: "False", message: '[{"userAgent":"Lifecycle","key":"preDeleteHook"}]'}]}}`,
			want: "is kept out of service by Lifecycle/preDeleteHook; wait for that party, or let it finish."},
		"readiness gate": {pod: "{spec: {readinessGates: [{conditionType: example.com/ok}]}}",
			want: "has the readiness gate example.com/ok, which is not True; ask the program that sets this condition."},
		"containers not ready": {pod: container("ready: false, state: {running: {}}"),
			want: "has a container main that runs but is not ready; check its readiness probe."},
		"waits for the hook preNormal": {pod: "{metadata: {labels: {lifecycle.apps.kruise.io/state: PreparingNormal}}, " + ready + "}",
			want: "waits for its preNormal hook in state PreparingNormal: it does not have the label ok=normal; " +
				"add it to the Pod when the work of the hook is done."},
		"minReadySeconds": {pod: "{" + strings.ReplaceAll(ready, "11:00:00", "11:59:53") + "}",
			want: "is ready and counts as available in 3s; wait."},
		"last warning": {pod: "{" + ready + "}", with: func(f *Facts) { f.Warnings = []string{"Unhealthy: probe."} },
			want: "has a warning: Unhealthy: probe; correct the cause."},
		"protected by a budget": {pod: "{metadata: {annotations: {pub.kruise.io/related-pub: b}}, " + ready + "}",
			with: func(f *Facts) {
				f.Budgets = []*v1beta1.PodUnavailableBudget{{ObjectMeta: metav1.ObjectMeta{Name: "b"}}}
			},
			want: "is available, and PodUnavailableBudget b refuses to disrupt it; make other Pods available, " +
				"or annotate the Pod with pub.kruise.io/no-protect=true."},
		"available": {pod: "{" + ready + "}", want: "is available; there is nothing to do."},
	} {
		t.Run(cause, func(t *testing.T) {
			f := facts(t)
			f.Pod = pod(t, test.pod)
			if test.with != nil {
				test.with(f)
			}
			assert.Equal(t, "Pod web-1 "+test.want, Explain(f).String())
			assert.Equal(t, cause, causeOf(podCauses, f))
		})
	}
	assert.Len(t, podCauses, 20, "every cause has its case above")
}

// Case kubectl-plugin 30: causes of budgets.
func TestCausesOfBudgets(t *testing.T) {
	used := v1beta1.PodUnavailableBudgetStatus{TotalReplicas: 3, CurrentAvailable: 2, DesiredAvailable: 2, ObservedGeneration: 1}
	with := func(change func(*v1beta1.PodUnavailableBudgetStatus)) v1beta1.PodUnavailableBudgetStatus {
		status := used
		change(&status)
		return status
	}
	for cause, test := range map[string]struct {
		status v1beta1.PodUnavailableBudgetStatus
		pods   []string
		want   string
	}{
		"not observed": {status: with(func(s *v1beta1.PodUnavailableBudgetStatus) { s.ObservedGeneration = 0 }),
			want: "has a change that the controller has not observed, and refuses everything until then; " +
				"check that the Pods of kruise-controller-manager in kruise-system run."},
		"no Pods": {status: with(func(s *v1beta1.PodUnavailableBudgetStatus) { s.TotalReplicas = 0 }),
			want: "protects no Pods; check its selector or its targetRef."},
		"allows more": {status: with(func(s *v1beta1.PodUnavailableBudgetStatus) { s.UnavailableAllowed, s.CurrentAvailable = 1, 3 }),
			want: "allows disruptions: 3 of 3 Pods are available, 2 must be; there is nothing to do."},
		"never allows any": {status: with(func(s *v1beta1.PodUnavailableBudgetStatus) { s.DesiredAvailable = 3 }),
			want: "requires 3 available Pods of 3 and never allows a disruption; raise maxUnavailable or lower minAvailable."},
		"granted disruptions": {
			status: with(func(s *v1beta1.PodUnavailableBudgetStatus) { s.DisruptedPods = map[string]metav1.Time{"web-1": {}} }),
			want:   "has granted disruptions that have not happened yet: 1; wait until they have happened."},
		"Pods not available": {status: used,
			pods: []string{"{metadata: {name: a, annotations: {kruise.io/related-pub: b}}}", "{metadata: {name: c, annotations: {kruise.io/related-pub: b}}, " + ready + "}"},
			want: "allows no disruption because Pods are not ready: a; run: kubectl kruise why pod/a."},
		"used up": {status: used,
			want: "allows no disruption: 2 of 3 Pods are available, 2 must be; create the missing Pods, or change the budget."},
	} {
		t.Run(cause, func(t *testing.T) {
			budget := &v1beta1.PodUnavailableBudget{ObjectMeta: metav1.ObjectMeta{Name: "b", Generation: 1}, Status: test.status}
			f := &Facts{Now: now, Budget: budget, Budgets: []*v1beta1.PodUnavailableBudget{budget}}
			for _, text := range test.pods {
				f.Pods = append(f.Pods, pod(t, text))
			}
			assert.Equal(t, "PodUnavailableBudget b "+test.want, Explain(f).String())
			assert.Equal(t, cause, causeOf(budgetCauses, f))
		})
	}
	assert.Len(t, budgetCauses, 7, "every cause has its case above")
}
