package persistentpodstate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/kinds"
)

const (
	auto      = pub.AutoGeneratePersistentPodStateKey
	required  = pub.RequiredPersistentTopologyKey
	preferred = pub.PreferredPersistentTopologyKey
)

func (w *world) exists(name string) bool {
	w.t.Helper()
	_, err := w.Kruise.AppsV1beta1().PersistentPodStates("ns").Get(w.t.Context(), name, metav1.GetOptions{})
	w.Kruise.ClearActions()
	if !apierrors.IsNotFound(err) {
		require.NoError(w.t, err)
	}
	return err == nil
}

// annotated changes the annotations of StatefulSet web, checks that the controller learns of it, and settles.
func (w *world) annotated(annotations ...string) {
	w.t.Helper()
	before, err := w.Kube.AppsV1().StatefulSets("ns").Get(w.t.Context(), "web", metav1.GetOptions{})
	require.NoError(w.t, err)
	after := builtIn(5, annotations...)
	assert.Contains(w.t, w.r.workloadChanged(kinds.StatefulSet)(before, after), types.NamespacedName{Namespace: "ns", Name: "web"})
	w.Update(after)
	w.Kube.ClearActions()
	w.settle("web")
}

// A refusal is told to the user. It is not repeated without end.
func TestAnnotationsThatMakeNoValidPersistentPodState(t *testing.T) {
	w := newWorld(t)
	refuse := true
	for _, verb := range []string{"create", "patch"} {
		w.Kruise.PrependReactor(verb, "persistentpodstates", func(clienttesting.Action) (bool, runtime.Object, error) {
			return refuse, nil, apierrors.NewInvalid(schema.GroupKind{}, "web", field.ErrorList{field.Invalid(field.NewPath("a"), "b", "c")})
		})
	}
	w.Add(builtIn(5, auto, "true", required, host, pub.PersistentPodAnnotationsKey, "ip,ip, ip"))
	const event = "Warning PersistentPodStateRefused the annotations of this workload do not make a valid PersistentPodState; correct them: "
	assert.Equal(t, refusedPeriod, w.Step("ns", "web"))
	assert.Contains(t, strings.Join(w.Events(), "\n"), event)

	refuse = false
	w.settle("web")
	assert.Equal(t, []v1beta1.PersistentPodAnnotation{{Key: "ip"}}, w.get("web").Spec.PersistentPodAnnotations)
	refuse = true
	w.Update(builtIn(5, auto, "true", required, zone))
	w.Step("ns", "web")
	assert.Contains(t, strings.Join(w.Events(), "\n"), event)
	assert.Equal(t, []string{host}, w.get("web").Spec.RequiredPersistentTopology.Keys, "it stays as it was")
}

// Cases persistentpodstate 11, 18.
func TestPersistentPodStateFollowsTheAnnotations(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(5, auto, "true", required, " "+host+" ,"), pod("web-0", "n1"))
	w.settle("web")
	state := w.get("web")
	assert.Equal(t, v1beta1.PersistentPodStateSpec{
		TargetRef:                  v1beta1.TargetReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web"},
		RequiredPersistentTopology: &v1beta1.NodeTopologyTerm{Keys: []string{host}},
	}, state.Spec)
	assert.True(t, metav1.IsControlledBy(state, builtIn(5)))

	w.annotated(auto, "true", required, host, preferred, zone, pub.PersistentPodAnnotationsKey, "ip, mac")
	state = w.get("web")
	assert.Equal(t, []v1beta1.PreferredTopologyTerm{{Weight: 100, Preference: v1beta1.NodeTopologyTerm{Keys: []string{zone}}}},
		state.Spec.PreferredPersistentTopology)
	assert.Equal(t, []v1beta1.PersistentPodAnnotation{{Key: "ip"}, {Key: "mac"}}, state.Spec.PersistentPodAnnotations)
	assert.Equal(t, map[string]string{host: "n1", zone: "a"}, state.Status.PodStates["web-0"].NodeTopologyLabels)

	w.annotated(auto, "true", preferred, zone)
	state = w.get("web")
	assert.Nil(t, state.Spec.RequiredPersistentTopology)
	assert.Empty(t, state.Spec.PersistentPodAnnotations)
	w.annotated(auto, "false", preferred, zone)
	assert.False(t, w.exists("web"))
}

// Case persistentpodstate 17.
func TestUsersMayChangeWhatIsGenerated(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(5, auto, "true", required, host), pod("web-0", "n1"), pod("web-4", "n2"))
	w.settle("web")
	state := w.get("web")
	whenDeleted(&state.Spec)
	state.Spec.RequiredPersistentTopology.Keys = append(state.Spec.RequiredPersistentTopology.Keys, zone)
	w.Update(state)
	scaled := builtIn(1, auto, "true", required, host)
	w.Update(scaled)
	w.gone("web-4")
	w.settle("web")
	state = w.get("web")
	assert.Contains(t, state.Status.PodStates, "web-4")
	assert.Equal(t, []string{host, zone}, state.Spec.RequiredPersistentTopology.Keys, "only a change of the annotations sets them again")
	w.annotated(auto, "true", required, zone)
	state = w.get("web")
	assert.Equal(t, []string{zone}, state.Spec.RequiredPersistentTopology.Keys)
	assert.Equal(t, v1beta1.PersistentPodStateRetentionPolicyWhenDeleted, state.Spec.PersistentPodStateRetentionPolicy)
}

// Case persistentpodstate 12.
func TestPersistentPodStateOfAUserIsNotTouched(t *testing.T) {
	w := newWorld(t)
	w.state(theirs)
	mine := w.get("state")
	mine.Name, mine.ResourceVersion = "web", ""
	w.Add(mine)
	w.Add(builtIn(5, auto, "true", preferred, zone))
	w.settle("web")
	assert.Equal(t, mine.Spec, w.get("web").Spec)
	w.annotated(auto, "false")
	assert.True(t, w.exists("web"))
}

// controlled adds a PersistentPodState that StatefulSet web controls, as OpenKruise generates it and as users may.
func (w *world) controlled(name string, annotations ...string) {
	w.t.Helper()
	w.state(theirs)
	state := w.get("state")
	state.Name, state.ResourceVersion = name, ""
	state.OwnerReferences = []metav1.OwnerReference{{APIVersion: theirs, Kind: "StatefulSet", Name: "web", UID: "web", Controller: new(true)}}
	annotate(state, annotations...)
	w.Add(state)
}

// Case persistentpodstate 12.
func TestPersistentPodStateThatWasNotGeneratedIsNotDeleted(t *testing.T) {
	for name, test := range map[string]struct {
		state       string
		annotations []string
	}{
		"another name":                     {"mine", nil},
		"a copy of a generated one":        {"mine", []string{pub.PersistentPodStateSourceKey, "true;" + host + ";;"}},
		"the name of the workload":         {"web", nil},
		"the name, with other annotations": {"web", []string{"example.com/a", "b"}},
	} {
		for when, set := range map[string][]string{"never": nil, "off": {auto, "false", required, zone}} {
			t.Run(name+", generation "+when, func(t *testing.T) {
				w := newWorld(t)
				w.controlled(test.state, test.annotations...)
				before := w.get(test.state)
				w.Add(builtIn(5, set...), pod("web-0", "n1"))
				w.settle(test.state)
				require.True(t, w.exists(test.state))
				after := w.get(test.state)
				assert.Equal(t, before.Spec, after.Spec)
				assert.Equal(t, before.Annotations, after.Annotations)
				assert.Contains(t, after.Status.PodStates, "web-0")
			})
		}
	}
}

// Case persistentpodstate 20.
func TestPersistentPodStateOfOpenKruiseIsAdopted(t *testing.T) {
	w := newWorld(t)
	w.controlled("web")
	edited := w.get("web")
	whenDeleted(&edited.Spec)
	w.Update(edited)
	w.Add(builtIn(5, auto, "true", preferred, zone))
	w.settle("web")
	state := w.get("web")
	assert.Equal(t, edited.Spec, state.Spec, "what a user changed stays")
	assert.Contains(t, state.Annotations, pub.PersistentPodStateSourceKey)

	w.annotated(auto, "true", required, zone)
	assert.Equal(t, []string{zone}, w.get("web").Spec.RequiredPersistentTopology.Keys)
	w.annotated(auto, "false")
	assert.False(t, w.exists("web"))
}

// Case persistentpodstate 19.
func TestGeneratedPersistentPodStateGoesWithItsWorkload(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(1, auto, "true", required, host))
	w.settle("web")
	again := builtIn(1, auto, "true", required, host)
	again.UID = "again"
	require.NoError(t, w.Kube.AppsV1().StatefulSets("ns").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	w.settle("web")
	assert.False(t, w.exists("web"))
	w.Add(again)
	w.settle("web")
	assert.True(t, metav1.IsControlledBy(w.get("web"), again))
}

func TestNothingIsGeneratedWithoutATopology(t *testing.T) {
	w := newWorld(t)
	w.Add(builtIn(1, auto, "true", pub.PersistentPodAnnotationsKey, "ip"))
	w.settle("web")
	assert.False(t, w.exists("web"))
}
