//go:build e2e && fault

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

const (
	// attackTime is how long each attack lasts, and twice is how many times longer others may wait meanwhile.
	attackTime = 40 * time.Second
	twice      = 2
	// attackers is how many requests a tenant sends at the same time, and attackPause the pause after each. Without a pause, a flood of any
	// requests takes the processors of a small machine: TestOneUserDoesNotBlockOthers measures that.
	attackers   = 2
	attackPause = time.Second
)

// tenantAttack is what a user with the role edit in one namespace does. Before the bounds, each of these requests kept a processor, a worker or the
// turn of all namespaces for seconds to hours.
type tenantAttack struct {
	name string
	// prepare creates what the attack needs, and attack is repeated. Its error does not matter: most attacks are refused.
	prepare func(*env)
	attack  func(context.Context, *env, int) error
}

var tenantAttacks = []tenantAttack{
	{"an update of a budget with a mistake in each of 50,000 requirements", func(e *env) {
		e.apply("apiVersion: policy.kruise.io/v1alpha1\nkind: PodUnavailableBudget\nmetadata: {name: own}\nspec: {selector: {matchLabels: {app: own}}, maxUnavailable: 1}\n")
	}, func(ctx context.Context, e *env, i int) error {
		var requirements strings.Builder
		for j := range 50_000 {
			fmt.Fprintf(&requirements, `%s{"key":"a%d","operator":"x"}`, separator(j), i+j)
		}
		patch := `{"spec":{"selector":{"matchExpressions":[` + requirements.String() + `]}}}`
		_, err := e.kruise.PolicyV1beta1().PodUnavailableBudgets(e.namespace).Patch(ctx, "own", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}},
	{"a WorkloadSpread whose patch has 10,000 containers", nil, func(ctx context.Context, e *env, i int) error {
		var containers strings.Builder
		for j := range 10_000 {
			fmt.Fprintf(&containers, `%s{"name":"c%d"}`, separator(j), j)
		}
		spread := &v1beta1.WorkloadSpread{ObjectMeta: metav1.ObjectMeta{Name: sprintf("spread-%d", i)}, Spec: v1beta1.WorkloadSpreadSpec{
			TargetRef: &v1beta1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "own"},
			Subsets:   []v1beta1.WorkloadSpreadSubset{{Name: "a"}},
		}}
		spread.Spec.Subsets[0].Patch = &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":[` + containers.String() + `]}}`)}
		_, err := e.kruise.AppsV1beta1().WorkloadSpreads(e.namespace).Create(ctx, spread, metav1.CreateOptions{})
		return err
	}},
	{"a marker whose probe has a command of 370 KiB", nil, func(ctx context.Context, e *env, i int) error {
		marker := &v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Name: sprintf("marker-%d", i)}, Spec: v1alpha1.PodProbeMarkerSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "own"}},
			Probes:   []v1alpha1.PodContainerProbe{{Name: "p", ContainerName: "main", PodConditionType: "e2e/p"}},
		}}
		marker.Spec.Probes[0].Probe.Exec = &corev1.ExecAction{Command: []string{"sh", "-c", strings.Repeat("x", 370<<10)}}
		_, err := e.kruise.AppsV1alpha1().PodProbeMarkers(e.namespace).Create(ctx, marker, metav1.CreateOptions{})
		return err
	}},
	{"a CloneSet with 11,000 variables in each Pod, updated in place", func(e *env) {
		set := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: "variables"}, Spec: v1beta1.CloneSetSpec{
			Replicas: new(int32(5)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "variables"}},
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
				PodUpdatePolicy: pub.InPlaceIfPossiblePodUpdatePolicy,
			}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "variables"}},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"type": "kwok"}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{{Name: "main", Image: "kruise.local/demo:r0"}},
				},
			},
		}}
		for j := range 11_000 {
			set.Spec.Template.Spec.Containers[0].Env = append(set.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{
				Name: sprintf("V%d", j), ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['a']"}},
			})
		}
		_, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Create(e.t.Context(), set, metav1.CreateOptions{})
		require.NoError(e.t, err)
	}, func(ctx context.Context, e *env, i int) error {
		patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"kruise.local/demo:r%d"}]}}}}`, i%7)
		_, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Patch(ctx, "variables", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		return err
	}},
}

func separator(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// TestTenantCostsOthersNothing has a tenant who sends the most expensive requests that the API accepts or refuses. Meanwhile, another tenant creates
// objects and Pods and evicts Pods under a budget about as fast as before and after that.
func TestTenantCostsOthersNothing(t *testing.T) {
	e := newEnv(t)
	e.apply(manifest("budgeted"))
	e.ready("budgeted", 3)
	e.budget("apps.kruise.io/v1alpha1", "CloneSet", "budgeted", "maxUnavailable: 1", 3)
	e.steps(attackTime / 4) // The first requests fill caches.
	before := e.steps(attackTime)
	t.Logf("quiet: %s", before)
	for _, attack := range tenantAttacks {
		t.Run(attack.name, func(t *testing.T) {
			other := newEnv(t)
			tenant := other.asEditor()
			if attack.prepare != nil {
				attack.prepare(other)
			}
			ctx, end := context.WithCancel(t.Context())
			var attacking sync.WaitGroup
			var lock sync.Mutex
			answers := map[string]int{}
			for n := range attackers {
				attacking.Go(func() {
					for i := n; ctx.Err() == nil; i += attackers {
						err := attack.attack(ctx, tenant, i)
						lock.Lock()
						answers[string(apierrors.ReasonForError(err))]++
						lock.Unlock()
						select {
						case <-ctx.Done():
						case <-time.After(attackPause):
						}
					}
				})
			}
			during := e.steps(attackTime)
			end()
			attacking.Wait()
			after := e.steps(attackTime)
			t.Logf("attacked: %s; after it: %s; answers: %v", during, after, answers)
			for step := range during {
				quiet := max(percentile(before[step], 99), percentile(after[step], 99))
				assert.LessOrEqual(t, percentile(during[step], 99), twice*quiet, "%s", stepNames[step])
			}
		})
	}
}

// stepNames are what a tenant does, in the order of the results of steps.
var stepNames = [...]string{"create a CloneSet", "create a Pod", "evict a Pod"}

// stepTimes are how long each step took, each time.
type stepTimes [len(stepNames)][]time.Duration

// String returns the median, the 99th percentile and the number of each step.
func (s stepTimes) String() string {
	texts := make([]string, len(s))
	for step, times := range s {
		texts[step] = sprintf("%s %v, p99 %v (%d)", stepNames[step], percentile(times, 50).Round(100*time.Microsecond),
			percentile(times, 99).Round(100*time.Microsecond), len(times))
	}
	return strings.Join(texts, "; ")
}

func percentile(times []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

// steps does what a tenant does again and again. Pods are created and evicted by dry runs, which all webhooks review.
func (e *env) steps(duration time.Duration) (times stepTimes) {
	e.t.Helper()
	ctx, pod := e.t.Context(), e.pods("budgeted")[0]
	sets := e.kruise.AppsV1beta1().CloneSets(e.namespace)
	dryRun := []string{metav1.DryRunAll}
	for began, i := time.Now(), 0; time.Since(began) < duration; i++ {
		set := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{GenerateName: "step-"}, Spec: v1beta1.CloneSetSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "step"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "step"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "kruise.local/demo:v1"}}},
			},
		}}
		created := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "step-", Labels: map[string]string{"app": "step"}}, Spec: set.Spec.Template.Spec}
		for step, do := range [...]func() error{
			func() (err error) {
				set, err = sets.Create(ctx, set, metav1.CreateOptions{})
				return err
			},
			func() error {
				_, err := e.core.CoreV1().Pods(e.namespace).Create(ctx, created, metav1.CreateOptions{DryRun: dryRun})
				return err
			},
			func() error {
				return e.core.PolicyV1().Evictions(e.namespace).Evict(ctx, &policyv1.Eviction{
					ObjectMeta:    metav1.ObjectMeta{Name: pod.Name, Namespace: e.namespace},
					DeleteOptions: &metav1.DeleteOptions{DryRun: dryRun},
				})
			},
		} {
			began := time.Now()
			require.NoError(e.t, do(), stepNames[step])
			times[step] = append(times[step], time.Since(began))
		}
		require.NoError(e.t, sets.Delete(ctx, set.Name, metav1.DeleteOptions{}))
	}
	return times
}
