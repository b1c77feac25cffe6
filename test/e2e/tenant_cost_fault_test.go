//go:build e2e && fault

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	certutil "k8s.io/client-go/util/cert"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/nodeagent/imagepuller/registrytest"
)

const (
	// attackTime is how long each attack lasts, and twice is how many times longer others may wait meanwhile.
	attackTime = 40 * time.Second
	twice      = 2
	// attackers is how many requests a tenant sends at the same time, and attackPause the pause after each. Without a pause, a flood of any
	// requests takes the processors of a small machine: TestOneUserDoesNotBlockOthers measures that.
	attackers   = 2
	attackPause = time.Second
	// mostVariables is how many variables a template may have.
	mostVariables = 1000
)

// tenantAttack is what a user with the role edit in one namespace does. Before the bounds, each of these requests kept a processor, a worker or the
// turn of all namespaces for seconds to hours.
type tenantAttack struct {
	name string
	// prepare creates what the attack needs, and attack is repeated. Its error does not matter: most attacks are refused.
	prepare func(*env)
	attack  func(context.Context, *env, int) error
	// native is the same by means of Kubernetes alone, or nil. Others may wait as long as during it: every tenant can do that.
	native *tenantAttack
}

// manyVariables returns a template with as many variables as it may have, for simulated nodes.
func manyVariables() corev1.PodTemplateSpec {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "variables"}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"type": "kwok"}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Name: "main", Image: "kruise.local/demo:r0"}},
		},
	}
	for i := range mostVariables {
		template.Spec.Containers[0].Env = append(template.Spec.Containers[0].Env, corev1.EnvVar{
			Name: sprintf("V%d", i), ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['a']"}},
		})
	}
	return template
}

// nextImage returns a patch that changes the image of the container.
func nextImage(i int) []byte {
	return fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"kruise.local/demo:r%d"}]}}}}`, i%7)
}

// tenantAttacks returns the attacks. hanging is the host of a registry that never answers, and address the host's address that Pods reach.
func tenantAttacks(hanging, address string) []tenantAttack {
	return []tenantAttack{
		{"an update of a budget with a mistake in each of 4,900 requirements", ownBudget, func(ctx context.Context, e *env, i int) error {
			var requirements strings.Builder
			for j := range 4_900 {
				fmt.Fprintf(&requirements, `%s{"key":"a%d","operator":"x"}`, separator(j), i+j)
			}
			patch := `{"spec":{"selector":{"matchExpressions":[` + requirements.String() + `]}}}`
			_, err := e.kruise.PolicyV1beta1().PodUnavailableBudgets(e.namespace).Patch(ctx, "own", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		}, nil},
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
		}, nil},
		{"a marker whose probe has a command of 370 KiB", nil, func(ctx context.Context, e *env, i int) error {
			marker := &v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Name: sprintf("marker-%d", i)}, Spec: v1alpha1.PodProbeMarkerSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "own"}},
				Probes:   []v1alpha1.PodContainerProbe{{Name: "p", ContainerName: "main", PodConditionType: "e2e/p"}},
			}}
			marker.Spec.Probes[0].Probe.Exec = &corev1.ExecAction{Command: []string{"sh", "-c", strings.Repeat("x", 370<<10)}}
			_, err := e.kruise.AppsV1alpha1().PodProbeMarkers(e.namespace).Create(ctx, marker, metav1.CreateOptions{})
			return err
		}, nil},
		{"a CloneSet with 1,000 variables in each Pod, updated in place", func(e *env) {
			_, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Create(e.t.Context(), &v1beta1.CloneSet{
				ObjectMeta: metav1.ObjectMeta{Name: "variables"}, Spec: v1beta1.CloneSetSpec{
					Replicas: new(int32(5)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "variables"}}, Template: manyVariables(),
					UpdateStrategy: v1beta1.CloneSetUpdateStrategy{RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
						PodUpdatePolicy: pub.InPlaceIfPossiblePodUpdatePolicy,
					}},
				},
			}, metav1.CreateOptions{})
			require.NoError(e.t, err)
		}, func(ctx context.Context, e *env, i int) error {
			_, err := e.kruise.AppsV1beta1().CloneSets(e.namespace).Patch(ctx, "variables", types.StrategicMergePatchType, nextImage(i), metav1.PatchOptions{})
			return err
		}, &tenantAttack{"a Deployment with 1,000 variables in each Pod", func(e *env) {
			_, err := e.core.AppsV1().Deployments(e.namespace).Create(e.t.Context(), &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: "variables"}, Spec: appsv1.DeploymentSpec{
					Replicas: new(int32(5)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "variables"}}, Template: manyVariables(),
				},
			}, metav1.CreateOptions{})
			require.NoError(e.t, err)
		}, func(ctx context.Context, e *env, i int) error {
			_, err := e.core.AppsV1().Deployments(e.namespace).Patch(ctx, "variables", types.StrategicMergePatchType, nextImage(i), metav1.PatchOptions{})
			return err
		}, nil}},
		{"updates of a budget that wait for the tenant's webhook, which never answers", func(e *env) {
			ownBudget(e)
			e.silentWebhook(address)
		}, func(ctx context.Context, e *env, i int) error {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"i":"%d"}}}`, i)
			_, err := e.kruise.PolicyV1beta1().PodUnavailableBudgets(e.namespace).Patch(ctx, "own", types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		}, nil},
		{"pulls on all nodes from a registry that never answers", func(e *env) {
			e.kubectl("create", "role", "puller", "--verb=create", "--resource=imagepulljobs.apps.kruise.io")
			e.kubectl("create", "rolebinding", "puller", "--role=puller", "--user="+tenantUser)
		}, func(ctx context.Context, e *env, i int) error {
			job := pullOf(hanging + sprintf("/team/app:%d", i))
			job.Spec.PullPolicy = &v1beta1.PullPolicy{TimeoutSeconds: new(int32(600)), BackoffLimit: new(int32(5))}
			_, err := e.kruise.AppsV1beta1().ImagePullJobs(e.namespace).Create(ctx, job, metav1.CreateOptions{})
			return err
		}, nil},
	}
}

// ownBudget creates a budget of the tenant.
func ownBudget(e *env) {
	e.apply("apiVersion: policy.kruise.io/v1alpha1\nkind: PodUnavailableBudget\nmetadata: {name: own}\nspec: {selector: {matchLabels: {app: own}}, maxUnavailable: 1}\n")
}

// silentWebhook has kruise-apiserver ask a webhook before each update of a budget of the namespace. The webhook is a Service, whose name no
// DNS server of the cluster knows, and it does not answer. The failure policy allows the update after ten seconds. The test fails if the
// webhook is never asked.
func (e *env) silentWebhook(address string) {
	e.t.Helper()
	const name = "silent"
	host := sprintf("%s.%s.svc", name, e.namespace)
	certificate, key, err := certutil.GenerateSelfSignedCertKey(host, nil, []string{host})
	require.NoError(e.t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	require.NoError(e.t, err)
	listener, err := (&net.ListenConfig{}).Listen(e.t.Context(), "tcp", net.JoinHostPort(address, "0"))
	require.NoError(e.t, err)
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // The server notices the end of a connection only when the body was read.
		asked.Add(1)
		<-r.Context().Done()
	}))
	server.Listener = listener
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	e.t.Cleanup(server.Close)

	meta, port := metav1.ObjectMeta{Name: name}, int32(listener.Addr().(*net.TCPAddr).Port)
	_, err = e.core.CoreV1().Services(e.namespace).Create(e.t.Context(), &corev1.Service{
		ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}},
	}, metav1.CreateOptions{})
	require.NoError(e.t, err)
	meta.Labels = map[string]string{discoveryv1.LabelServiceName: name}
	_, err = e.core.DiscoveryV1().EndpointSlices(e.namespace).Create(e.t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}},
		Ports:     []discoveryv1.EndpointPort{{Name: new("https"), Port: &port}},
	}, metav1.CreateOptions{})
	require.NoError(e.t, err)
	webhooks := e.core.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err = webhooks.Create(e.t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "silent.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionv1.SideEffectClassNone),
			FailurePolicy: new(admissionv1.Ignore), TimeoutSeconds: new(int32(10)),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.namespace}},
			ClientConfig: admissionv1.WebhookClientConfig{
				Service: &admissionv1.ServiceReference{Namespace: e.namespace, Name: name}, CABundle: certificate,
			},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{"policy.kruise.io"}, APIVersions: []string{"*"}, Resources: []string{"podunavailablebudgets"}},
			}},
		}},
	}, metav1.CreateOptions{})
	require.NoError(e.t, err)
	e.t.Cleanup(func() {
		assert.Positive(e.t, asked.Load(), "the webhook was asked")
		assert.NoError(e.t, webhooks.Delete(context.WithoutCancel(e.t.Context()), e.namespace, metav1.DeleteOptions{}))
	})
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
	p := newPulls(t)
	e := p.env
	e.apply(manifest("budgeted"))
	e.ready("budgeted", 3)
	e.budget("apps.kruise.io/v1alpha1", "CloneSet", "budgeted", "maxUnavailable: 1", 3)
	image, hanging := p.registry(t).Host+"/team/app:1", registrytest.Start(t, p.address, registrytest.Hanging)
	require.NoError(t, p.cluster.UseRegistry(hanging.Host))
	e.steps(attackTime/4, image) // The first requests fill caches.
	before := e.steps(attackTime, image)
	t.Logf("quiet: %s", before)
	for _, attack := range tenantAttacks(hanging.Host, p.address) {
		t.Run(attack.name, func(t *testing.T) {
			during, answers := e.attacked(t, attack, image)
			after := e.steps(attackTime, image)
			t.Logf("attacked: %s; after it: %s; answers: %v", during, after, answers)
			var native stepTimes
			if attack.native != nil {
				native, answers = e.attacked(t, *attack.native, image)
				t.Logf("by %s: %s; answers: %v", attack.native.name, native, answers)
			}
			for step := range during {
				quiet := max(percentile(before[step], 99), percentile(after[step], 99))
				assert.LessOrEqual(t, percentile(during[step], 99), max(twice*quiet, percentile(native[step], 99)), "%s", stepNames[step])
			}
		})
	}
}

// attacked returns how long the steps take while another tenant attacks, and how often the tenant got which answer.
func (e *env) attacked(t *testing.T, attack tenantAttack, image string) (stepTimes, map[string]int) {
	t.Helper()
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
	during := e.steps(attackTime, image)
	end()
	attacking.Wait()
	// The deletion of what the attack has made is no part of the next one.
	e.kubectl("delete", "namespace", other.namespace, "--timeout=3m")
	return during, answers
}

// stepNames are what a tenant does, in the order of the results of steps. The last one runs beside the others.
var stepNames = [...]string{"create a CloneSet", "create a Pod", "evict a Pod", "change a budget", "pull an image"}

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

// percentile returns zero if there are no times.
func percentile(times []time.Duration, percent int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

// steps does what a tenant does again and again. Pods are created and evicted by dry runs, which all webhooks review. Meanwhile, a node pulls
// the image again and again.
func (e *env) steps(duration time.Duration, image string) (times stepTimes) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), duration)
	defer cancel()
	var pulling sync.WaitGroup
	pulls := &times[len(times)-1]
	pulling.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			if assert.NoError(e.t, e.pullAgain(image), "pull an image") {
				*pulls = append(*pulls, time.Since(began))
			}
		}
	})
	defer pulling.Wait()
	pod, dryRun := e.pods("budgeted")[0], []string{metav1.DryRunAll}
	sets := e.kruise.AppsV1beta1().CloneSets(e.namespace)
	for i := 0; ctx.Err() == nil; i++ {
		ctx := e.t.Context()
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
			func() error {
				patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"i":"%d"}}}`, i)
				_, err := e.kruise.PolicyV1beta1().PodUnavailableBudgets(e.namespace).Patch(ctx, "budgeted", types.MergePatchType, patch, metav1.PatchOptions{})
				return err
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

// pullOf returns a job that pulls an image on all real nodes, also where it is.
func pullOf(image string) *v1beta1.ImagePullJob {
	job := &v1beta1.ImagePullJob{ObjectMeta: metav1.ObjectMeta{GenerateName: "pull-"}, Spec: v1beta1.ImagePullJobSpec{Image: image}}
	job.Spec.ImagePullPolicy = v1beta1.PullAlways
	job.Spec.Selector = &v1beta1.ImagePullJobNodeSelector{LabelSelector: metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "type", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"kwok"}}},
	}}
	return job
}

// pullAgain pulls an image on all real nodes, and returns when the job has completed.
func (e *env) pullAgain(image string) error {
	ctx, cancel := context.WithTimeout(e.t.Context(), patience)
	defer cancel()
	jobs := e.kruise.AppsV1beta1().ImagePullJobs(e.namespace)
	job, err := jobs.Create(ctx, pullOf(image), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, job.Name).String()
	changes, err := jobs.Watch(ctx, metav1.ListOptions{FieldSelector: selector, ResourceVersion: job.ResourceVersion})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		if changed, ok := change.Object.(*v1beta1.ImagePullJob); ok && changed.Status.CompletionTime != nil {
			if changed.Status.Failed > 0 {
				return fmt.Errorf("the pull failed: %+v", changed.Status)
			}
			return jobs.Delete(ctx, job.Name, metav1.DeleteOptions{})
		}
	}
	return fmt.Errorf("the job did not complete: %w", ctx.Err())
}
