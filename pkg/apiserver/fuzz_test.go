package apiserver

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/randfill"
)

// seeds adds the examples to the corpus: in every served version, as JSON, as protobuf, and as protobuf with values
// that JSON cannot represent. It returns one stored object of each kind.
func (w *world) seeds(f *testing.F) map[schema.GroupVersionKind]runtime.Object {
	f.Helper()
	stored := map[schema.GroupVersionKind]runtime.Object{}
	for _, example := range readExamples(f) {
		if !GroupNames().Has(example.content.GroupVersionKind().Group) {
			continue
		}
		hub, err := runtime.Decode(w.codecs.UniversalDecoder(), example.data)
		require.NoError(f, err, example)
		kind := w.find(hub)
		for _, version := range kind.ServedVersions() {
			text, err := runtime.Encode(w.codecs.LegacyCodec(version), hub)
			require.NoError(f, err, example)
			f.Add(text)
			binary, err := runtime.Encode(w.codecs.EncoderForVersion(w.protobuf, version), hub)
			require.NoError(f, err, example)
			f.Add(binary)
			f.Add(w.spoilt(f, version, hub))
		}
		stored[kind.hub] = hub
		kind.main.PrepareForCreate(kind.request(f, kind.StoredVersion()), hub)
	}
	return stored
}

// spoilt encodes a hub object in protobuf and replaces every value that can be by one that JSON cannot represent.
func (w *world) spoilt(f *testing.F, version schema.GroupVersion, hub runtime.Object) []byte {
	f.Helper()
	sent, err := w.scheme.ConvertToVersion(hub, version)
	require.NoError(f, err)
	sent = sent.DeepCopyObject()
	spoilPlaces(sent, func(int) bool { return true })
	data, err := runtime.Encode(w.codecs.EncoderForVersion(w.protobuf, version), sent)
	require.NoError(f, err)
	return data
}

// FuzzDecode runs the steps of a request on random bytes: decode, default, prepare, validate, store and show. Nothing
// may panic. Every object that validation accepts must be readable in each version.
func FuzzDecode(f *testing.F) {
	w := newWorld(f)
	stored := w.seeds(f)
	same := sameAsShown(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := runtime.Decode(w.codecs.UniversalDecoder(), data)
		if err != nil {
			return
		}
		kind := w.find(object)
		if kind == nil {
			return
		}
		shown := sets.New[string]()
		for _, accepted := range w.judge(t, kind, object, stored[kind.hub]) {
			bytes, err := runtime.Encode(w.codecs.EncoderForVersion(w.protobuf, kind.StoredVersion()), accepted)
			require.NoError(t, err)
			if !shown.Has(string(bytes)) {
				w.show(t, kind, same, bytes, accepted)
			}
			shown.Insert(string(bytes))
		}
	})
}

// show decodes the stored bytes of an object, and encodes the object in each version and encoding, as a list would.
func (w *world) show(t *testing.T, kind *kind, same conversion.Equalities, data []byte, accepted runtime.Object) {
	t.Helper()
	stored, err := runtime.Decode(w.codecs.UniversalDecoder(), data)
	require.NoError(t, err)
	if !same.DeepEqual(accepted, stored) {
		require.Fail(t, "lost in the store", diff.Diff(accepted, stored))
	}
	for _, version := range kind.ServedVersions() {
		for _, encoding := range []runtime.Serializer{w.texts[0], w.protobuf} {
			shown, err := runtime.Encode(w.codecs.EncoderForVersion(encoding, version), stored)
			require.NoError(t, err)
			read, err := runtime.Decode(w.codecs.DecoderToVersion(encoding, kind.hub.GroupVersion()), shown)
			require.NoError(t, err, "%s", shown)
			if !same.DeepEqual(stored, read) {
				require.Fail(t, "lost in "+version.String(), "%s\n%s", shown, diff.Diff(stored, read))
			}
		}
	}
}

// sameAsShown compares what JSON shows. Of an IntOrString, JSON shows only the number or only the string.
func sameAsShown(t testing.TB) conversion.Equalities {
	t.Helper()
	equal := sameButForClaimKinds(t)
	require.NoError(t, equal.AddFunc(func(a, b intstr.IntOrString) bool { return a.Type == b.Type && a.String() == b.String() }))
	return equal
}

// FuzzValidate fills two objects of a kind from the bytes and validates the change from one to the other. It reaches
// rules that mutated request bytes seldom reach.
func FuzzValidate(f *testing.F) {
	w := newWorld(f)
	for i := range w.kinds {
		f.Add(byte(i), []byte("some bytes to begin with, enough to fill a few fields of an object"), []byte("others"))
	}
	f.Fuzz(func(t *testing.T, index byte, before, after []byte) {
		kind := &w.kinds[int(index)%len(w.kinds)]
		stored, written := kind.NewObject(), kind.NewObject()
		randfill.NewFromGoFuzz(before).Funcs(fuzzRaw).NilChance(0.5).NumElements(0, 2).MaxDepth(20).Fill(stored)
		randfill.NewFromGoFuzz(after).Funcs(fuzzRaw).NilChance(0.5).NumElements(0, 2).MaxDepth(20).Fill(written)
		w.judge(t, kind, written, stored)
	})
}

// fuzzRaw fills embedded JSON with random bytes. It leaves the other field empty, because that is an interface.
func fuzzRaw(raw *runtime.RawExtension, c randfill.Continue) {
	*raw = runtime.RawExtension{Raw: []byte(c.String(0))}
}

// judge validates the creation of an object, its update and an update of its status, in each version. It returns the accepted objects.
func (w *world) judge(t *testing.T, kind *kind, object, old runtime.Object) (accepted []runtime.Object) {
	t.Helper()
	for _, version := range kind.ServedVersions() {
		ctx := kind.request(t, version)
		created, updated, reported := object.DeepCopyObject(), object.DeepCopyObject(), object.DeepCopyObject()
		kind.main.PrepareForCreate(ctx, created)
		if len(kind.main.Validate(ctx, created)) == 0 {
			kind.main.WarningsOnCreate(ctx, created)
			accepted = append(accepted, created)
		}
		kind.main.PrepareForUpdate(ctx, updated, old)
		if len(kind.main.ValidateUpdate(ctx, updated, old)) == 0 {
			kind.main.WarningsOnUpdate(ctx, updated, old)
			accepted = append(accepted, updated)
		}
		kind.status.PrepareForUpdate(ctx, reported, old)
		if len(kind.status.ValidateUpdate(ctx, reported, old)) == 0 {
			accepted = append(accepted, reported)
		}
	}
	return accepted
}
