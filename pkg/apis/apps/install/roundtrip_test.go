package install_test

import (
	"flag"
	"math/rand"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/sets"

	"kruise.io/kruise/pkg/apis/apps"
	appsfuzzer "kruise.io/kruise/pkg/apis/apps/fuzzer"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

var iterations = flag.Int("fuzz-iters", 200, "how many random objects of each kind and version go round")

// TestMain hands the number on: the library's own flag is one that go test cannot set.
func TestMain(m *testing.M) {
	flag.Parse()
	*roundtrip.FuzzIters = *iterations
	os.Exit(m.Run())
}

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	return scheme
}

func newFuzzer(t *testing.T, scheme *runtime.Scheme) func(object any) {
	t.Helper()
	seed := rand.Int63()
	t.Logf("seed %d", seed)
	filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, appsfuzzer.Funcs), rand.NewSource(seed), serializer.NewCodecFactory(scheme))
	return filler.Fill
}

// TestRoundTripHub goes from the hub to each version as JSON, YAML and protobuf, and back.
func TestRoundTripHub(t *testing.T) {
	roundtrip.RoundTripProtobufTestForScheme(t, newScheme(t), appsfuzzer.Funcs)
}

// TestRoundTripExternal goes from each version to JSON and protobuf and back, with values
// that no server would store too.
func TestRoundTripExternal(t *testing.T) {
	scheme := newScheme(t)
	codecs := serializer.NewCodecFactory(scheme)
	filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, appsfuzzer.Funcs), rand.NewSource(rand.Int63()), codecs)
	roundtrip.RoundTripExternalTypes(t, scheme, codecs, filler, nil)
}

// TestRoundTripUnstructured goes through unstructured objects, as dynamic clients do.
func TestRoundTripUnstructured(t *testing.T) {
	scheme := newScheme(t)
	withoutHub := sets.New[schema.GroupVersionKind]()
	for kind := range scheme.AllKnownTypes() {
		if !scheme.Recognizes(apps.SchemeGroupVersion.WithKind(kind.Kind)) {
			withoutHub.Insert(kind)
		}
	}
	funcs := fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, appsfuzzer.Funcs)
	roundtrip.RoundtripToUnstructured(t, scheme, funcs, nil, withoutHub)
}

// TestRoundTripBetweenVersions stores what one version wrote as the other, in each encoding,
// and reads it back as the first.
func TestRoundTripBetweenVersions(t *testing.T) {
	scheme := newScheme(t)
	fill := newFuzzer(t, scheme)
	cases := map[string]struct {
		write    func() runtime.Object
		from, to schema.GroupVersion
	}{
		"written as v1alpha1, stored as v1beta1": {
			write: func() runtime.Object {
				written := &v1alpha1.CloneSet{}
				fill(written)
				written.TypeMeta = metav1.TypeMeta{}
				written.Spec.VolumeClaimTemplates = apps.ClaimsFromHub(written.Spec.VolumeClaimTemplates)
				scheme.Default(written)
				return written
			},
			from: v1alpha1.SchemeGroupVersion, to: v1beta1.SchemeGroupVersion,
		},
		"written as v1beta1, stored as v1alpha1": {
			write: func() runtime.Object {
				hub, written := &apps.CloneSet{}, &v1beta1.CloneSet{}
				fill(hub)
				hub.TypeMeta = metav1.TypeMeta{}
				require.NoError(t, scheme.Convert(hub, written, nil))
				return written
			},
			from: v1beta1.SchemeGroupVersion, to: v1alpha1.SchemeGroupVersion,
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			for range *iterations {
				written := test.write()
				for encoding, plain := range encodings(scheme) {
					read := through(t, scheme, plain, written, test.from, test.to)
					require.True(t, apiequality.Semantic.DeepEqual(written, read), "lost in %s:\n%s", encoding, diff.Diff(written, read))
				}
			}
		})
	}
}

func encodings(scheme *runtime.Scheme) map[string]runtime.Serializer {
	return map[string]runtime.Serializer{
		"protobuf": protobuf.NewSerializer(scheme, scheme),
		"JSON":     json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Strict: true}),
		"YAML":     json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true}),
	}
}

// through converts an object to the hub, encodes and decodes it as the stored version, and
// converts the hub back to the version that wrote it.
func through(
	t *testing.T, scheme *runtime.Scheme, plain runtime.Serializer, written runtime.Object, from, store schema.GroupVersion,
) runtime.Object {
	t.Helper()
	codec := serializer.NewCodecFactory(scheme).CodecForVersions(plain, plain, store, apps.SchemeGroupVersion)
	hub := &apps.CloneSet{}
	require.NoError(t, scheme.Convert(written.DeepCopyObject(), hub, nil))
	data, err := runtime.Encode(codec, hub)
	require.NoError(t, err)
	decoded, err := runtime.Decode(codec, data)
	require.NoError(t, err)
	result, err := scheme.New(from.WithKind("CloneSet"))
	require.NoError(t, err)
	require.NoError(t, scheme.Convert(decoded, result, nil))
	result.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return result
}
