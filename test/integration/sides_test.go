//go:build integration

package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
)

// side is one of the two workloads that a test takes through the same operations: that of Kubernetes or ours. Each has a namespace of
// its own, with the same names.
type side struct {
	t         *testing.T
	ours      bool
	namespace string
	gv        schema.GroupVersion
	object    dynamic.ResourceInterface
	manifest  string
	kubelets  *kubelets
	seen      *sequence
	// nodes is the number of nodes on which a DaemonSet is to run.
	nodes int
}

// operation is one thing that a user or a node does to both sides.
type operation struct {
	name string
	// do does it to one side. once does it for both.
	do   func(s *side)
	once func(t *testing.T)
	// stuck means that the workload does not reach its spec afterwards.
	stuck bool
	// anyOrder means that the order between places may differ. The order of the changes at each place is the same.
	anyOrder bool
	// anyPlace means that the places may differ too. The order of each Pod's changes is the same.
	anyPlace bool
	// disrupts means that the user deletes several Pods. How many of them are away at the same time depends on how soon each returns.
	disrupts bool
	// anyStatus means that the status of Kubernetes may follow at its next change.
	anyStatus bool
	// wordy compares the events until now.
	wordy bool
	// aged means that its Pods must be younger than those that exist. Creation times have seconds, and both controllers order Pods of
	// the same second by their random names. So the operation begins in the next second.
	aged bool
	// nodes is the number of nodes on which a DaemonSet is to run from now on. Zero means as before.
	nodes int
}

// newSides returns both sides for a manifest, whose apiVersion is GROUP. The Pods are bound to the nodes.
func newSides(t *testing.T, resource, manifest string, place func(*corev1.Pod) string, nodes ...string) []*side {
	t.Helper()
	client, err := dynamic.NewForConfig(env.config)
	require.NoError(t, err)
	var sides []*side
	for _, gv := range []schema.GroupVersion{appsv1.SchemeGroupVersion, {Group: "apps.kruise.io", Version: "v1beta1"}} {
		namespace := newNamespace(t)
		sides = append(sides, &side{
			t: t, ours: gv.Group != appsv1.GroupName, namespace: namespace, gv: gv, manifest: manifest,
			object:   client.Resource(gv.WithResource(resource)).Namespace(namespace),
			kubelets: play(t, namespace, nodes...), seen: follow(t, namespace, place),
		})
	}
	return sides
}

// compare takes both sides through the operations and compares what happens.
func compare(t *testing.T, sides []*side, operations []operation, reached func(s *side, object *unstructured.Unstructured) string) {
	t.Helper()
	for _, o := range operations {
		done := t.Run(o.name, func(t *testing.T) {
			if o.aged {
				<-time.After(time.Second)
			}
			if o.once != nil {
				o.once(t)
			}
			for _, s := range sides {
				s.t = t
				s.nodes = cmp.Or(o.nodes, s.nodes)
				if o.do != nil {
					o.do(s)
				}
				s.seen.touch()
			}
			for _, s := range sides {
				s.settle(o.stuck, reached)
			}
			o.awaitSame(t, sides)
			compareSteps(t, sides, &o)
			assert.Equal(t, sides[0].summary(&o), sides[1].summary(&o), "status, revisions, Pods and claims")
			if o.wordy {
				compareEvents(t, sides)
			}
		})
		if !done {
			return // The sides differ from now on.
		}
	}
}

// awaitSame waits for a side that is slower than the other one. It gives up after a while, and the comparison then says what differs.
func (o *operation) awaitSame(t *testing.T, sides []*side) {
	t.Helper()
	_ = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, slowerBy, true, func(context.Context) (bool, error) {
		return sides[0].seen.count() == sides[1].seen.count() && assert.ObjectsAreEqual(sides[0].summary(o), sides[1].summary(o)), nil
	})
}

func compareSteps(t *testing.T, sides []*side, o *operation) {
	theirs, theirClaims, theirLeast := sides[0].seen.take()
	ours, ourClaims, ourLeast := sides[1].seen.take()
	t.Logf("%s %s, at least %d ready", inOrder(ours), ourClaims, ourLeast)
	switch {
	case o.anyPlace:
		assert.ElementsMatch(t, byPod(theirs), byPod(ours), "each Pod's changes")
	case o.anyOrder:
		assert.Equal(t, byPlace(theirs), byPlace(ours), "the changes at each place")
	default:
		assert.Equal(t, inOrder(theirs), inOrder(ours), "the changes of Pods")
	}
	assert.Equal(t, theirClaims, ourClaims, "the changes of claims")
	if !o.disrupts {
		assert.GreaterOrEqual(t, ourLeast, theirLeast, "the smallest number of ready Pods")
	}
}

const (
	// quietAfter is the time without a change after which an operation is over. stuckAfter is that of a workload that cannot reach
	// its spec. Each such operation waits for it, and a busy machine can stand still for two seconds.
	quietAfter = 300 * time.Millisecond
	stuckAfter = 3 * time.Second
	// settleWithin is how long an operation may take. slowerBy is how much longer one side may take than the other.
	settleWithin = 4 * time.Minute
	slowerBy     = 30 * time.Second
)

// settle waits until the workload has done all that it can do.
func (s *side) settle(stuck bool, reached func(*side, *unstructured.Unstructured) string) {
	s.t.Helper()
	quiet := quietAfter
	if stuck {
		quiet = stuckAfter
	}
	lacks := ""
	err := wait.PollUntilContextTimeout(s.t.Context(), 50*time.Millisecond, settleWithin, true, func(ctx context.Context) (bool, error) {
		if s.seen.quiet() <= quiet {
			return false, nil // Nothing is read while Pods change.
		}
		object, err := s.object.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			lacks = err.Error()
			return false, nil //nolint:nilerr // It is asked again.
		}
		if stuck {
			observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
			return observed == object.GetGeneration() && s.seen.quiet() > quiet, nil
		}
		lacks = cmp.Or(reached(s, object), s.unready())
		return lacks == "" && s.seen.quiet() > quiet, nil
	})
	require.NoError(s.t, err, "%s: %s", s.gv, lacks)
}

// unready returns a Pod that is not ready, or an empty text.
func (s *side) unready() string {
	for _, pod := range s.pods() {
		if pod.DeletionTimestamp != nil || !ready(&pod) {
			return pod.Name
		}
	}
	return ""
}

// summary is what is compared after each operation.
type summary struct {
	Status    map[string]any
	Revisions []int64
	Pods      []podShape
	Claims    []claimShape
}

// podShape and claimShape are what a workload decides about a Pod and a claim.
type podShape struct {
	Place, Hostname, Subdomain, Owner string
	Labels, Claims                    []string
	Revision                          int
}

type claimShape struct {
	Name   string
	Labels map[string]string
	Owners []string
}

// summary returns the state of the workload, as far as it is the same on both sides after the operation.
func (s *side) summary(o *operation) (sum summary) {
	s.t.Helper()
	ctx := s.t.Context()
	object, err := s.object.Get(ctx, "web", metav1.GetOptions{})
	require.NoError(s.t, err)
	if !o.anyStatus {
		sum.Status = s.status(object)
	}
	revisions, err := env.kube.AppsV1().ControllerRevisions(s.namespace).List(ctx, metav1.ListOptions{})
	require.NoError(s.t, err)
	for i := range revisions.Items {
		sum.Revisions = append(sum.Revisions, revisions.Items[i].Revision)
	}
	slices.Sort(sum.Revisions)
	for _, pod := range s.pods() {
		shape := s.shape(&pod)
		if o.anyPlace {
			shape.Place = ""
		}
		sum.Pods = append(sum.Pods, shape)
	}
	slices.SortFunc(sum.Pods, func(a, b podShape) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Revision, b.Revision))
	})
	claims, err := env.kube.CoreV1().PersistentVolumeClaims(s.namespace).List(ctx, metav1.ListOptions{})
	require.NoError(s.t, err)
	for i := range claims.Items {
		shape := claimShape{Name: claims.Items[i].Name, Labels: claims.Items[i].Labels}
		for _, owner := range claims.Items[i].OwnerReferences {
			shape.Owners = append(shape.Owners, owner.Kind+" "+owner.Name)
		}
		sum.Claims = append(sum.Claims, shape)
	}
	return sum
}

// numbers are the counters of a status that both groups have.
var numbers = []string{
	"observedGeneration", "replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas", "desiredNumberScheduled",
	"currentNumberScheduled", "numberMisscheduled", "numberReady", "numberAvailable", "numberUnavailable", "updatedNumberScheduled",
}

// status returns the counters of a status, and its revisions by their position.
func (s *side) status(object *unstructured.Unstructured) map[string]any {
	status, _, _ := unstructured.NestedMap(object.Object, "status")
	out := map[string]any{}
	for _, name := range numbers {
		out[name], _, _ = unstructured.NestedInt64(status, name)
	}
	for _, name := range []string{"currentRevision", "updateRevision"} {
		if revision, found, _ := unstructured.NestedString(status, name); found && object.GetKind() == "StatefulSet" {
			s.seen.lock.Lock()
			out[name] = s.seen.position(revision)
			s.seen.lock.Unlock()
		}
	}
	return out
}

// ownLabels are labels that only one of the groups writes.
var ownLabels = regexp.MustCompile(`^(pod-template-generation|lifecycle\.apps\.kruise\.io/.*)$`)

func (s *side) shape(pod *corev1.Pod) podShape {
	shape := podShape{Place: s.seen.place(pod), Hostname: pod.Spec.Hostname, Subdomain: pod.Spec.Subdomain}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		shape.Owner = owner.Kind + " " + owner.Name
	}
	for _, key := range slices.Sorted(maps.Keys(pod.Labels)) {
		switch {
		case ownLabels.MatchString(key):
		case key == appsv1.ControllerRevisionHashLabelKey:
			s.seen.lock.Lock()
			shape.Revision = s.seen.position(pod.Labels[key])
			s.seen.lock.Unlock()
		default:
			shape.Labels = append(shape.Labels, key+"="+pod.Labels[key])
		}
	}
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			shape.Claims = append(shape.Claims, claim.ClaimName)
		}
	}
	return shape
}

var randomSuffix = regexp.MustCompile(`\bweb-[a-z0-9]{5,10}\b`)

// compareEvents compares the events of both sides until now. Events are written later than what they are about.
func compareEvents(t *testing.T, sides []*side) {
	t.Helper()
	<-time.After(time.Second)
	_ = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, slowerBy, true, func(context.Context) (bool, error) {
		return slices.Equal(sides[0].events(), sides[1].events()), nil
	})
	assert.Equal(t, sides[0].events(), sides[1].events(), "events")
}

// events returns the different events about the workload, in lower case, which Kubernetes 1.36 no longer uses for verbs. Random parts of
// names are left out.
func (s *side) events() []string {
	s.t.Helper()
	list, err := env.kube.CoreV1().Events(s.namespace).List(s.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=web"})
	require.NoError(s.t, err)
	different := map[string]bool{}
	for i := range list.Items {
		event := &list.Items[i]
		different[event.Type+" "+event.Reason+" "+strings.ToLower(randomSuffix.ReplaceAllString(event.Message, "web-x"))] = true
	}
	return slices.Sorted(maps.Keys(different))
}

func (s *side) pods() []corev1.Pod {
	s.t.Helper()
	list, err := env.kube.CoreV1().Pods(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	require.NoError(s.t, err)
	return list.Items
}

// create creates the object of the manifest.
func (s *side) create() {
	s.t.Helper()
	object := &unstructured.Unstructured{}
	raw, err := yaml.ToJSON([]byte(s.manifest))
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(raw, &object.Object))
	object.SetAPIVersion(s.gv.String())
	_, err = s.object.Create(s.t.Context(), object, metav1.CreateOptions{})
	require.NoError(s.t, err)
}

// patch changes the object by a merge patch.
func (s *side) patch(text string, values ...any) {
	s.t.Helper()
	_, err := s.object.Patch(s.t.Context(), "web", types.MergePatchType, fmt.Appendf(nil, text, values...), metav1.PatchOptions{})
	require.NoError(s.t, err)
}

// container changes a member of the container by a JSON patch.
func (s *side) container(member, value string) {
	s.t.Helper()
	patch := fmt.Sprintf(`[{"op":"add","path":"/spec/template/spec/containers/0/%s","value":%s}]`, member, value)
	_, err := s.object.Patch(s.t.Context(), "web", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(s.t, err)
}

// recreate deletes the object without its Pods, and creates it with the same spec.
func (s *side) recreate() {
	s.t.Helper()
	before, err := s.object.Get(s.t.Context(), "web", metav1.GetOptions{})
	require.NoError(s.t, err)
	err = s.object.Delete(s.t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationOrphan)})
	require.NoError(s.t, err)
	eventually(s.t, func() bool {
		_, err := s.object.Get(s.t.Context(), "web", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	again := &unstructured.Unstructured{Object: map[string]any{"spec": before.Object["spec"]}}
	again.SetGroupVersionKind(before.GroupVersionKind())
	again.SetName("web")
	_, err = s.object.Create(s.t.Context(), again, metav1.CreateOptions{})
	require.NoError(s.t, err)
}

// compareRemoval deletes both objects, and compares the claims that stay when their Pods and the claims that they own are deleted.
func compareRemoval(t *testing.T, sides []*side) {
	t.Helper()
	policy := metav1.DeletePropagationBackground
	for _, s := range sides {
		s.t = t
		require.NoError(t, s.object.Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &policy}))
	}
	var stay [][]string
	for _, s := range sides {
		var names []string
		eventually(t, func() bool {
			claims, err := env.kube.CoreV1().PersistentVolumeClaims(s.namespace).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			names = nil
			for i := range claims.Items {
				names = append(names, claims.Items[i].Name)
			}
			owned := slices.ContainsFunc(claims.Items, func(claim corev1.PersistentVolumeClaim) bool { return len(claim.OwnerReferences) > 0 })
			return !owned && len(s.pods()) == 0
		})
		stay = append(stay, names)
	}
	assert.Equal(t, stay[0], stay[1], "claims without an owner stay")
	t.Logf("%v stay", stay[1])
}

// at returns the name of the Pod at a place.
func (s *side) at(place string) string {
	s.t.Helper()
	for _, pod := range s.pods() {
		if s.seen.place(&pod) == place {
			return pod.Name
		}
	}
	require.Failf(s.t, "no Pod", "at %s", place)
	return ""
}

func (s *side) deletePods(places ...string) {
	s.t.Helper()
	for _, place := range places {
		require.NoError(s.t, env.kube.CoreV1().Pods(s.namespace).Delete(s.t.Context(), s.at(place), metav1.DeleteOptions{}))
	}
}

// deleteWithout deletes the Pods that lack a label.
func (s *side) deleteWithout(label string) {
	s.t.Helper()
	err := env.kube.CoreV1().Pods(s.namespace).
		DeleteCollection(s.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "!" + label})
	require.NoError(s.t, err)
}

// kill deletes a Pod without its node.
func (s *side) kill(place string) {
	s.t.Helper()
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	require.NoError(s.t, env.kube.CoreV1().Pods(s.namespace).Delete(s.t.Context(), s.at(place), now))
}

func (s *side) evict(place string) {
	s.t.Helper()
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: s.at(place), Namespace: s.namespace}}
	require.NoError(s.t, env.kube.PolicyV1().Evictions(s.namespace).Evict(s.t.Context(), eviction))
}

// phase sets the phase of a Pod, as a kubelet does that ends it.
func (s *side) phase(place string, phase corev1.PodPhase) {
	s.t.Helper()
	patch := fmt.Appendf(nil, `{"status":{"phase":%q}}`, phase)
	_, err := env.kube.CoreV1().Pods(s.namespace).
		Patch(s.t.Context(), s.at(place), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	require.NoError(s.t, err)
}

// metadata changes the metadata of a Pod.
func (s *side) metadata(place, text string) {
	s.t.Helper()
	_, err := env.kube.CoreV1().Pods(s.namespace).
		Patch(s.t.Context(), s.at(place), types.MergePatchType, []byte(`{"metadata":`+text+`}`), metav1.PatchOptions{})
	require.NoError(s.t, err)
}
