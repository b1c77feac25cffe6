package describe

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	kubectldescribe "k8s.io/kubectl/pkg/describe"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/kubectl/cluster"
	"kruise.io/kruise/pkg/kubectl/polymorphic"
	"kruise.io/kruise/pkg/kubectl/why"
	"kruise.io/kruise/pkg/kubectl/workload"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/podstate"
)

// installed makes Install safe to call for each command tree: a second call would wrap its own function.
var installed sync.Once

// Install makes kubectl's describe use this package for kinds that roll out. kubectl keeps the function in a global variable.
func Install(now clock.PassiveClock) {
	installed.Do(func() {
		// All other kinds are described by kubectl.
		other := kubectldescribe.DescriberFn
		kubectldescribe.DescriberFn = func(getter genericclioptions.RESTClientGetter, mapping *meta.RESTMapping,
		) (kubectldescribe.ResourceDescriber, error) {
			row := workload.KindOf(mapping.GroupVersionKind.GroupKind())
			if row == nil || !row.RollsOut() {
				return other(getter, mapping)
			}
			// Clients are made for each description, because kubectl passes the flags of the command here.
			config, err := getter.ToRESTConfig()
			if err != nil {
				return nil, err
			}
			c, err := cluster.ForConfig(config)
			return &describer{cluster: c, row: row, clock: now}, err
		}
	})
}

// describer describes the workloads of one kind.
type describer struct {
	cluster *cluster.Cluster
	row     *workload.Kind
	clock   clock.PassiveClock
}

// Describe implements kubectl's ResourceDescriber. The workload is read by why.Read, so the answer of the command why
// is a part of the description.
func (d *describer) Describe(namespace, name string, settings kubectldescribe.DescriberSettings) (string, error) {
	ctx := context.TODO() //nolint:forbidigo // kubectl's interface has no context.
	// why.Read needs only the namespace, the name and the UID of the object.
	object := &unstructured.Unstructured{}
	object.SetNamespace(namespace)
	w, err := d.cluster.Workload(ctx, d.row, namespace, name)
	if err != nil {
		return "", err
	}
	object.SetName(name)
	object.SetUID(w.GetUID())
	facts, err := why.Read(ctx, d.cluster, d.clock, d.row.GroupKind, object)
	if err != nil {
		return "", err
	}
	out := &strings.Builder{}
	if err := write(out, facts); err != nil {
		return "", err
	}
	if settings.ShowEvents {
		// The UID leaves out events of an earlier object with the same name.
		events, err := d.cluster.Core.CoreV1().Events(namespace).List(ctx,
			metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(w.GetUID())})
		if err != nil {
			return "", fmt.Errorf("list events of %s: %w", name, err)
		}
		kubectldescribe.DescribeEvents(events, kubectldescribe.NewPrefixWriter(out))
	}
	return out.String(), nil
}

// write describes a workload without its events. All its counts come from Progress, as in the other commands.
func write(out io.Writer, facts *why.Facts) error {
	w, p := facts.Workload, facts.Progress
	selector, err := w.LabelSelector()
	if err != nil {
		return err
	}
	template, err := w.PodTemplate()
	if err != nil {
		return err
	}
	// The line Rollout has the same text as the command rollout status.
	status, _ := polymorphic.Sentence(w, p)
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, line := range [][2]string{
		{"Name:", w.GetName()}, {"Namespace:", w.GetNamespace()}, {"Kind:", w.Title},
		{"Labels:", listed(w.GetLabels())}, {"Annotations:", listed(w.GetAnnotations())}, {"Selector:", selector.String()},
		{"Revision:", p.Revision},
		{"Replicas:", fmt.Sprintf("%d desired | %d updated | %d to update | %d available", p.Wanted, p.Updated, p.Target, p.Available)},
		{"Paused:", fmt.Sprint(p.Paused)}, {"Rollout:", status}, {"Why:", why.Explain(facts).String()},
	} {
		_, _ = fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
	}
	if err := table.Flush(); err != nil {
		return err
	}
	kubectldescribe.DescribePodTemplate(template, kubectldescribe.NewPrefixWriter(out))
	conditions(out, w)
	return pods(out, facts)
}

// conditions prints a table of the conditions. It prints nothing without any.
func conditions(out io.Writer, w *workload.Workload) {
	all := w.Conditions()
	if len(all) == 0 {
		return
	}
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "Conditions:\n  Type\tStatus\tReason\tMessage\n  ----\t------\t------\t-------\n")
	for _, c := range all {
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	_ = table.Flush()
}

// pods prints a table of the Pods. A Pod in a state of a lifecycle hook shows that state and not its phase.
func pods(out io.Writer, facts *why.Facts) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "Pods:\n  Name\tUpdated\tReady\tState\tNode\n  ----\t-------\t-----\t-----\t----\n")
	for _, pod := range facts.Pods {
		state := pod.Labels[pub.LifecycleStateKey]
		if state == "" {
			state = string(pod.Status.Phase)
		}
		_, _ = fmt.Fprintf(table, "  %s\t%t\t%t\t%s\t%s\n", pod.Name,
			history.Matches(pod.Labels[pub.ControllerRevisionHashKey], facts.Progress.Revision), podstate.Ready(pod), state, pod.Spec.NodeName)
	}
	return table.Flush()
}

// listed returns labels or annotations in one line, sorted.
func listed(of map[string]string) string {
	if len(of) == 0 {
		return "<none>"
	}
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		pairs = append(pairs, key+"="+of[key])
	}
	return strings.Join(pairs, ", ")
}
