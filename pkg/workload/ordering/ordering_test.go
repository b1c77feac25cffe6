package ordering

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kruise.io/kruise/pkg/apis/pub"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

type option func(*corev1.Pod)

func on(node string) option           { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
func phase(ph corev1.PodPhase) option { return func(p *corev1.Pod) { p.Status.Phase = ph } }
func cost(text string) option         { return annotation(pub.PodDeletionCostKey, text) }
func created(ago time.Duration) option {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-ago)) }
}
func annotation(k, v string) option {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{k: v} }
}
func label(k, v string) option { return func(p *corev1.Pod) { p.Labels = map[string]string{k: v} } }
func restarted(n int32) option {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: n}} }
}
func ready(ago time.Duration) option {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-ago)),
		}}
	}
}

func pod(name string, options ...option) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	for _, o := range options {
		o(p)
	}
	return p
}

func running(name, node string, options ...option) *corev1.Pod {
	return pod(name, append([]option{on(node), phase(corev1.PodRunning), ready(time.Hour)}, options...)...)
}

func names(pods []*corev1.Pod) string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return strings.Join(all, " ")
}

// Cases cloneset 12, 13, 14.
func TestForDeletion(t *testing.T) {
	zones := map[string]map[string]string{"a1": {"zone": "a"}, "a2": {"zone": "a"}, "b1": {"zone": "b"}}
	tests := map[string]struct {
		deletion Deletion
		pods     []*corev1.Pod
		want     string
	}{
		"unassigned before assigned": {
			pods: []*corev1.Pod{running("a", "n"), pod("b")}, want: "b a",
		},
		"pending before unknown before running": {
			pods: []*corev1.Pod{running("a", "n"), pod("b", on("n"), phase(corev1.PodUnknown)), pod("c", on("n"), phase(corev1.PodPending))},
			want: "c b a",
		},
		"not available before available": {
			deletion: Deletion{MinReadySeconds: 60},
			pods:     []*corev1.Pod{running("a", "n"), running("b", "m", ready(10*time.Second))}, want: "b a",
		},
		"lowest cost first": {
			pods: []*corev1.Pod{running("a", "1", cost("100")), running("b", "2"), running("c", "3", cost("-1"))}, want: "c b a",
		},
		"a cost with a sign or zeros in front counts as zero": {
			pods: []*corev1.Pod{running("a", "1", cost("+5")), running("b", "2", cost("-1")), running("c", "3", cost("05")), running("d", "4", cost("1"))},
			want: "b a c d",
		},
		"cost only after readiness": {
			pods: []*corev1.Pod{running("a", "1", cost("-5")), pod("b", on("2"), phase(corev1.PodRunning), cost("100"))}, want: "b a",
		},
		"three on a node, one elsewhere": {
			pods: []*corev1.Pod{running("a", "n2"), running("b", "n1"), running("c", "n1"), running("d", "n1")}, want: "b c a d",
		},
		"spread over zones": {
			deletion: Deletion{TopologyKeys: []string{"zone"}, NodeLabels: func(n string) map[string]string { return zones[n] }},
			pods: []*corev1.Pod{
				running("b1", "b1"), running("b2", "b1"), running("a1", "a1"), running("a2", "a1"), running("a3", "a2"), running("a4", "a2"),
			},
			want: "a1 a3 a2 b1 a4 b2",
		},
		"the latest to be ready first": {
			pods: []*corev1.Pod{running("a", "1", ready(time.Hour)), running("b", "2", ready(time.Minute))}, want: "b a",
		},
		"most restarts first": {
			pods: []*corev1.Pod{running("a", "1", restarted(1)), running("b", "2", restarted(7))}, want: "b a",
		},
		"youngest first": {
			pods: []*corev1.Pod{running("a", "1", created(time.Hour)), running("b", "2", created(time.Minute))}, want: "b a",
		},
		"equals by name": {
			pods: []*corev1.Pod{running("c", "1"), running("a", "2"), running("b", "3")}, want: "a b c",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.deletion.Now = now
			assert.Equal(t, tc.want, names(tc.deletion.ForDeletion(tc.pods)))
		})
	}
}

func TestForUpdate(t *testing.T) {
	pods := []*corev1.Pod{running("serves", "1"), pod("broken", on("2"), phase(corev1.PodRunning)), pod("unassigned")}
	assert.Equal(t, "unassigned broken serves", names(ForUpdate(pods)))
}

func TestPreparingFirst(t *testing.T) {
	pods := []*corev1.Pod{pod("a"), pod("b", label("lifecycle.apps.kruise.io/state", "PreparingUpdate")), pod("c")}
	assert.Equal(t, "b a c", names(PreparingFirst(pods)))
}

// Case cloneset 30.
func TestOrderedKeysDecideWhichPodIsFirst(t *testing.T) {
	pods := []*corev1.Pod{pod("two", label("o", "a-2")), pod("ten", label("o", "a-10")), pod("none"), pod("text", label("o", "x"))}
	assert.Equal(t, "none ten two text", names(ByOrderedKeys(pods, []string{"o"})))
	pods = []*corev1.Pod{pod("second", label("q", "9")), pod("first", label("p", "1"))}
	assert.Equal(t, "first second", names(ByOrderedKeys(pods, []string{"p", "q"})))
}

// Case cloneset 31.
func TestWeightsAddUp(t *testing.T) {
	both := pod("both")
	both.Labels = map[string]string{"a": "1", "b": "1"}
	pods := []*corev1.Pod{pod("none"), pod("b", label("b", "1")), both, pod("a", label("a", "1"))}
	weights := []Weight{{50, labels.SelectorFromSet(labels.Set{"a": "1"})}, {30, labels.SelectorFromSet(labels.Set{"b": "1"})}}
	assert.Equal(t, "both a b none", names(ByWeight(pods, weights)))
}

// series returns n Pods named prefix1..n. They are labelled if the prefix is "m".
func series(prefix string, n int) (pods []*corev1.Pod) {
	for i := range n {
		p := pod(fmt.Sprintf("%s%d", prefix, i+1))
		if prefix == "m" {
			p.Labels = map[string]string{"s": "1"}
		}
		pods = append(pods, p)
	}
	return pods
}

// Case cloneset 29.
func TestScatterSpreadsMarkedPods(t *testing.T) {
	m, u := series("m", 4), series("u", 6)
	term := []ScatterTerm{{"s", "1"}}
	tests := map[string]struct {
		candidates, all []*corev1.Pod
		want            string
	}{
		"four of ten": {
			candidates: append(append([]*corev1.Pod{}, m...), u...),
			want:       "m1 u1 u2 m2 u3 u4 m3 u5 u6 m4",
		},
		"two of five": {
			candidates: append(append([]*corev1.Pod{}, m[:2]...), u[:3]...),
			want:       "m1 u1 u2 u3 m2",
		},
		"fewer matching ones left than over all": {
			candidates: append(append([]*corev1.Pod{}, m[:2]...), u...),
			all:        append(append([]*corev1.Pod{}, m...), u...),
			want:       "u1 u2 u3 u4 m1 u5 u6 m2",
		},
		"a single matching one stays": {
			candidates: append(append([]*corev1.Pod{}, m[:1]...), u[:3]...),
			want:       "m1 u1 u2 u3",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.all == nil {
				tc.all = tc.candidates
			}
			assert.Equal(t, tc.want, names(Scatter(tc.candidates, tc.all, term)))
		})
	}
}
