package describe

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

// batchLabel is the label of Pods with the batch that updated them.
const batchLabel = "rollouts.kruise.io/rollout-batch-id"

// mapper finds the resource of a kind. It is the part of a RESTMapper that this package needs.
type mapper interface {
	RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
}

// phases are the icons and colors of the phases of a Rollout. The colors are codes of ANSI terminals.
var phases = map[string]struct{ icon, color string }{
	"Healthy": {"✔", "32"}, "Progressing": {"◌", "33"}, "Initial": {"◌", "33"}, "Terminating": {"✖", "31"}, "Disabled": {"॥", "90"},
	"Disabling": {"॥", "90"}, "StepPaused": {"॥", "36"},
}

// phaseOf returns the phase, or an empty string before the controller has set one.
func phaseOf(rollout *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(rollout.Object, "status", "phase")
	return phase
}

// status returns the phase with its icon. A Rollout that waits for an approval is paused. state is the state of the
// current step. plain leaves the colors out.
func status(rollout *unstructured.Unstructured, state string, plain bool) string {
	phase, shown := phaseOf(rollout), phaseOf(rollout)
	if phase == "Progressing" && state == "StepPaused" {
		phase, shown = state, "Paused"
	}
	// A newer release of Rollouts can have phases that are not in the table. They have no icon.
	look, known := phases[phase]
	switch {
	case phase == "":
		return "<unknown>"
	case !known:
		return shown
	case plain:
		return look.icon + " " + shown
	default:
		return "\x1b[" + look.color + "m" + look.icon + " " + shown + "\x1b[0m"
	}
}

// strategyOf returns the name of the strategy, its fields, and the status of it. Rollouts without a strategy are
// canaries. spec and state are nil if they are missing.
func strategyOf(rollout *unstructured.Unstructured) (name string, spec, state map[string]any) {
	for _, known := range []struct{ name, spec, status string }{
		{"BlueGreen", "blueGreen", "blueGreenStatus"}, {"Canary", "canary", "canaryStatus"},
	} {
		name = known.name
		spec, _, _ = unstructured.NestedMap(rollout.Object, "spec", "strategy", known.spec)
		state, _, _ = unstructured.NestedMap(rollout.Object, "status", known.status)
		if spec != nil {
			break
		}
	}
	return name, spec, state
}

// describe returns the description of a Rollout, its workload and the Pods. Fields that are missing or have another
// form are shown as missing, because the kind can be of any release.
func (d *rolloutDescriber) describe(ctx context.Context, rollout *unstructured.Unstructured) (string, error) {
	name, spec, state := strategyOf(rollout)
	steps, _, _ := unstructured.NestedSlice(spec, "steps")
	at, _, _ := unstructured.NestedInt64(state, "currentStepIndex")
	step, _, _ := unstructured.NestedString(state, "currentStepState")
	message, _, _ := unstructured.NestedString(rollout.Object, "status", "message")
	out := &strings.Builder{}
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	row := func(label, value string) { _, _ = fmt.Fprintf(table, "%s:\t%s\n", label, cmp.Or(value, "<none>")) }
	row("Name", rollout.GetName())
	row("Namespace", rollout.GetNamespace())
	row("Status", status(rollout, step, d.plain))
	row("Message", message)
	row("Strategy", name)
	row("Step", fmt.Sprintf("%d/%d", at, len(steps)))
	for i, value := range steps {
		text := described(value)
		if int64(i+1) == at {
			text += "  <- " + cmp.Or(step, "current")
		}
		row(fmt.Sprintf("  %d", i+1), text)
	}
	routings, _, _ := unstructured.NestedSlice(spec, "trafficRoutings")
	row("Traffic Routings", listedRoutings(routings))
	workload, err := d.workload(ctx, rollout)
	if err != nil {
		return "", err
	}
	if workload != nil {
		d.workloadRows(row, workload, state)
	}
	if err := table.Flush(); err != nil || workload == nil {
		return out.String(), err
	}
	if err := d.pods(ctx, out, workload); err != nil {
		return "", err
	}
	return out.String(), nil
}

// described returns what a step changes, such as "replicas 20%, traffic 10%, pause until approved". It returns only
// the fields that the step has.
func described(step any) string {
	fields, ok := step.(map[string]any)
	if !ok {
		return ""
	}
	var parts []string
	if replicas, found := fields["replicas"]; found {
		parts = append(parts, fmt.Sprintf("replicas %v", replicas))
	}
	if traffic, found := fields["traffic"]; found {
		parts = append(parts, fmt.Sprintf("traffic %v", traffic))
	} else if weight, found := fields["weight"]; found {
		parts = append(parts, fmt.Sprintf("traffic %v%%", weight))
	}
	if matches, ok := fields["matches"].([]any); ok {
		parts = append(parts, fmt.Sprintf("%d traffic matches", len(matches)))
	}
	if pause, ok := fields["pause"].(map[string]any); ok {
		if seconds, found := pause["duration"]; found {
			parts = append(parts, fmt.Sprintf("pause %vs", seconds))
		} else {
			parts = append(parts, "pause until approved")
		}
	}
	return strings.Join(parts, ", ")
}

// listedRoutings returns the services of the traffic routings, and by what each is routed.
func listedRoutings(routings []any) string {
	var names []string
	for _, value := range routings {
		routing, ok := value.(map[string]any)
		if !ok {
			continue
		}
		service, _, _ := unstructured.NestedString(routing, "service")
		var through []string
		for _, kind := range []string{"ingress", "gateway", "customNetworkRefs"} {
			if routing[kind] != nil {
				through = append(through, kind)
			}
		}
		names = append(names, strings.TrimSpace("service "+service+" through "+cmp.Or(strings.Join(through, ", "), "nothing")))
	}
	return strings.Join(names, "; ")
}

// workload reads the workload of a Rollout. It returns nil if the Rollout has no workload. The reference is in one of
// two places, depending on the version of the Rollout.
func (d *rolloutDescriber) workload(ctx context.Context, rollout *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ref, _, _ := unstructured.NestedStringMap(rollout.Object, "spec", "workloadRef")
	if ref == nil {
		ref, _, _ = unstructured.NestedStringMap(rollout.Object, "spec", "objectRef", "workloadRef")
	}
	if ref["name"] == "" {
		return nil, nil //nolint:nilnil // see above
	}
	kind := schema.FromAPIVersionAndKind(ref["apiVersion"], ref["kind"])
	mapping, err := d.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("find the kind of the workload: %w", err)
	}
	found, err := d.cluster.Dynamic.Resource(mapping.Resource).Namespace(rollout.GetNamespace()).Get(ctx, ref["name"], metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the workload: %w", err)
	}
	return found, nil
}

// workloadRows prints the workload. state is the status of the strategy. Its revisions come before those of the
// workload.
func (d *rolloutDescriber) workloadRows(row func(label, value string), workload *unstructured.Unstructured, state map[string]any) {
	text := func(of map[string]any, path ...string) string {
		value, _, _ := unstructured.NestedString(of, path...)
		return value
	}
	row("Workload", workload.GetKind()+"/"+workload.GetName())
	row("Images", strings.Join(images(workload), ", "))
	row("Current Revision", cmp.Or(text(state, "stableRevision"), text(workload.Object, "status", "currentRevision")))
	row("Update Revision", cmp.Or(text(state, "updatedRevision"), text(state, "canaryRevision"),
		text(workload.Object, "status", "updateRevision")))
	var counts []string
	for _, count := range []struct {
		label string
		path  []string
	}{
		{"desired", []string{"spec", "replicas"}}, {"updated", []string{"status", "updatedReplicas"}},
		{"current", []string{"status", "replicas"}},
		{"ready", []string{"status", "readyReplicas"}}, {"available", []string{"status", "availableReplicas"}},
	} {
		number, _, _ := unstructured.NestedInt64(workload.Object, count.path...)
		counts = append(counts, fmt.Sprintf("%d %s", number, count.label))
	}
	row("Replicas", strings.Join(counts, " | "))
}

// images returns the images of the Pod template, in the order of its containers.
func images(workload *unstructured.Unstructured) (all []string) {
	containers, _, _ := unstructured.NestedSlice(workload.Object, "spec", "template", "spec", "containers")
	for _, container := range containers {
		if fields, ok := container.(map[string]any); ok {
			all = append(all, fmt.Sprint(fields["image"]))
		}
	}
	return all
}

// pods prints the Pods of a workload by batch. Those with more ready containers come first. It lists by the
// selector of the workload and not by the owner, because the Pods of a Deployment belong to its ReplicaSets.
func (d *rolloutDescriber) pods(ctx context.Context, out io.Writer, workload *unstructured.Unstructured) error {
	selector := &metav1.LabelSelector{}
	given, _, _ := unstructured.NestedMap(workload.Object, "spec", "selector")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(given, selector); err != nil {
		return fmt.Errorf("read the selector of the workload: %w", err)
	}
	selected, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return fmt.Errorf("read the selector of the workload: %w", err)
	}
	list, err := d.cluster.Core.CoreV1().Pods(workload.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: selected.String()})
	if err != nil {
		return fmt.Errorf("list the Pods of the workload: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int {
		return cmp.Or(strings.Compare(a.Labels[batchLabel], b.Labels[batchLabel]),
			-cmp.Compare(readyContainers(&a), readyContainers(&b)), strings.Compare(a.Name, b.Name))
	})
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "Pods:\n  NAME\tREADY\tBATCH ID\tREVISION\tAGE\tRESTARTS\tSTATUS\n")
	for i := range list.Items {
		pod := &list.Items[i]
		// Pods of Deployments have the second label only.
		revision := cmp.Or(pod.Labels[pub.ControllerRevisionHashKey], pod.Labels["pod-template-hash"])
		_, _ = fmt.Fprintf(table, "  %s\t%d/%d\t%s\t%s\t%s\t%d\t%s\n", pod.Name, readyContainers(pod), len(pod.Spec.Containers),
			cmp.Or(pod.Labels[batchLabel], "-"), revision, d.age(pod), restarts(pod), podStatus(pod))
	}
	return table.Flush()
}

// age returns how long ago the Pod was created, in the form of kubectl get.
func (d *rolloutDescriber) age(pod *corev1.Pod) string {
	if pod.CreationTimestamp.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(d.clock.Since(pod.CreationTimestamp.Time))
}

// readyContainers returns how many containers are ready, as kubectl get shows them.
func readyContainers(pod *corev1.Pod) (ready int) {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Ready {
			ready++
		}
	}
	return ready
}

// restarts returns the sum of the restarts of all containers.
func restarts(pod *corev1.Pod) (sum int32) {
	for i := range pod.Status.ContainerStatuses {
		sum += pod.Status.ContainerStatuses[i].RestartCount
	}
	return sum
}

// podStatus is the phase, or why a container waits. It is a short form of what kubectl get shows.
func podStatus(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return "Terminating"
	}
	for i := range pod.Status.ContainerStatuses {
		if waiting := pod.Status.ContainerStatuses[i].State.Waiting; waiting != nil && waiting.Reason != "" {
			return waiting.Reason
		}
	}
	if pod.Status.Phase == corev1.PodRunning && !podstate.Ready(pod) {
		return "NotReady"
	}
	return string(pod.Status.Phase)
}
