package apiserver

import (
	"bytes"
	"flag"
	"math/rand"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/randfill"

	"kruise.io/kruise/pkg/apis/apps"
	appsfuzzer "kruise.io/kruise/pkg/apis/apps/fuzzer"
	"kruise.io/kruise/pkg/apis/policy"
	policyfuzzer "kruise.io/kruise/pkg/apis/policy/fuzzer"
)

var iterations = flag.Int("fuzz-iters", 200, "how many random objects of each kind go from each version to the other and back")

// TestMain sets the number of iterations of the roundtrip library, because go test cannot set the library's own flag. In a
// long run, the library gets a tenth of the iterations. Its tests compare each object about ten times, and most of that
// repeats TestRoundTripBetweenVersions. Only the library checks that copies share no memory, and checks unstructured objects.
func TestMain(m *testing.M) {
	flag.Parse()
	*roundtrip.FuzzIters = min(*iterations, max(200, *iterations/10))
	os.Exit(m.Run())
}

// fillers holds the fuzzer functions of each group.
var fillers = map[string]fuzzer.FuzzerFuncs{
	apps.GroupName:   appsfuzzer.Funcs,
	policy.GroupName: policyfuzzer.Funcs,
}

// fillerFuncs returns functions that fill objects of every group.
func fillerFuncs(t testing.TB) fuzzer.FuzzerFuncs {
	t.Helper()
	all := []fuzzer.FuzzerFuncs{metafuzzer.Funcs, withoutMergeKeys}
	for _, group := range groups {
		require.Contains(t, fillers, group.name, "a group has functions that fill its objects")
		all = append(all, fillers[group.name])
	}
	return fuzzer.MergeFuzzerFuncs(all...)
}

// withoutMergeKeys never generates the string "<<". The YAML library writes it as an unquoted map key, and reads that
// key as a request to merge another map. So YAML cannot carry it.
func withoutMergeKeys(serializer.CodecFactory) []any {
	text := func(c randfill.Continue) string {
		for {
			if text := c.String(0); text != "<<" {
				return text
			}
		}
	}
	return []any{
		func(value *string, c randfill.Continue) { *value = text(c) },
		func(value *corev1.ResourceName, c randfill.Continue) { *value = corev1.ResourceName(text(c)) },
	}
}

func newFiller(t *testing.T, w *world) *randfill.Filler {
	t.Helper()
	seed := rand.Int63()
	t.Logf("seed %d", seed)
	return fuzzer.FuzzerFor(fillerFuncs(t), rand.NewSource(seed), w.codecs)
}

// lists returns the list kinds. The round-trip tests skip them, because they test the items.
func (w *world) lists() map[schema.GroupVersionKind]bool {
	lists := map[schema.GroupVersionKind]bool{}
	for kind := range w.scheme.AllKnownTypes() {
		if strings.HasSuffix(kind.Kind, "List") {
			lists[kind] = true
		}
	}
	return lists
}

// TestRoundTripHub converts from the hub to each version, encodes as JSON, YAML and protobuf, and converts back.
func TestRoundTripHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	roundtrip.RoundTripTypes(t, w.scheme, w.codecs, newFiller(t, w), w.lists())
}

// TestRoundTripExternal encodes each version as JSON and protobuf and decodes it again. The values include some that
// no server would store.
func TestRoundTripExternal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	roundtrip.RoundTripExternalTypes(t, w.scheme, w.codecs, newFiller(t, w), w.lists())
}

// TestRoundTripUnstructured converts to unstructured objects and back, as dynamic clients do.
func TestRoundTripUnstructured(t *testing.T) {
	t.Parallel()
	scheme := newWorld(t).scheme
	withoutHub := sets.New[schema.GroupVersionKind]()
	for kind := range scheme.AllKnownTypes() {
		hub := schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}
		if !scheme.Recognizes(hub.WithKind(kind.Kind)) {
			withoutHub.Insert(kind)
		}
	}
	roundtrip.RoundtripToUnstructured(t, scheme, fillerFuncs(t), nil, withoutHub)
}

// TestRoundTripBetweenVersions writes an object in one version, stores it in the other in each encoding, and reads it
// in the first. A kind with one version is stored in that version.
func TestRoundTripBetweenVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, kind := range w.kinds {
		for _, from := range kind.ServedVersions() {
			for _, to := range others(kind.ServedVersions(), from) {
				t.Run(kind.hub.Kind+" written as "+from.Version+" and stored as "+to.Version, func(t *testing.T) {
					t.Parallel()
					filler, equal, began := newFiller(t, w), sameButForClaimKinds(t), time.Now()
					for range *iterations {
						w.goRound(t, filler, equal, from.WithKind(kind.hub.Kind), to)
					}
					t.Logf("%s: %d objects in %s", t.Name(), *iterations, time.Since(began).Round(time.Millisecond))
				})
			}
		}
	}
}

// others returns the versions except one, or that one if there is no other.
func others(versions []schema.GroupVersion, one schema.GroupVersion) []schema.GroupVersion {
	if len(versions) == 1 {
		return versions
	}
	return sets.New(versions...).Delete(one).UnsortedList()
}

// sameButForClaimKinds ignores the apiVersion and kind of claim templates. Every version shows them, whether the user
// wrote them or not.
func sameButForClaimKinds(t testing.TB) conversion.Equalities {
	t.Helper()
	equal := apiequality.Semantic.Copy()
	require.NoError(t, equal.AddFunc(func(a, b corev1.PersistentVolumeClaim) bool {
		a.TypeMeta, b.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
		return apiequality.Semantic.DeepEqual(a, b)
	}))
	return equal
}

// goRound compares an object as written with the object as read from stored protobuf. It can then compare bytes to
// check that JSON and YAML hold the same, which is much cheaper than comparing objects.
func (w *world) goRound(t *testing.T, filler *randfill.Filler, equal conversion.Equalities, from schema.GroupVersionKind, to schema.GroupVersion) {
	t.Helper()
	written, err := w.scheme.New(from)
	require.NoError(t, err)
	filler.Fill(written)
	w.scheme.Default(written)
	hub, err := w.scheme.ConvertToVersion(written.DeepCopyObject(), schema.GroupVersion{Group: to.Group, Version: runtime.APIVersionInternal})
	require.NoError(t, err)
	stored, err := w.scheme.ConvertToVersion(hub, to)
	require.NoError(t, err)
	data, err := runtime.Encode(w.protobuf, stored)
	require.NoError(t, err)
	if read := w.readAs(t, data, from); !equal.DeepEqual(written, read) {
		require.Fail(t, "lost between versions", "%s", diff.Diff(written, read))
	}
	for _, encoding := range w.texts {
		text, err := runtime.Encode(encoding, stored)
		require.NoError(t, err)
		read, err := runtime.Decode(encoding, text)
		require.NoError(t, err)
		same, err := runtime.Encode(w.protobuf, read)
		require.NoError(t, err)
		if !bytes.Equal(data, same) && !equal.DeepEqual(stored, read) {
			require.Fail(t, "lost in text", "%s\n%s", text, diff.Diff(stored, read))
		}
	}
}

// readAs decodes and defaults stored bytes and converts the object to a version.
func (w *world) readAs(t *testing.T, data []byte, version schema.GroupVersionKind) runtime.Object {
	t.Helper()
	hub, err := runtime.Decode(w.codecs.UniversalDecoder(), data)
	require.NoError(t, err)
	result, err := w.scheme.New(version)
	require.NoError(t, err)
	require.NoError(t, w.scheme.Convert(hub, result, nil))
	result.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return result
}

// TestMergeKeysAreLeftOut checks withoutMergeKeys. Without it, about one in a thousand objects would fail in YAML only.
func TestMergeKeysAreLeftOut(t *testing.T) {
	w := newWorld(t)
	filler := newFiller(t, w)
	for range 200_000 {
		text := ""
		filler.Fill(&text)
		assert.NotEqual(t, "<<", text)
	}
}
