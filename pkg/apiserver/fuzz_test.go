package apiserver

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"sigs.k8s.io/randfill"
)

// seeds are the examples in every version of their kind, as JSON and as protobuf.
func (w *world) seeds(f *testing.F) {
	f.Helper()
	wire := protobuf.NewSerializer(w.scheme, w.scheme)
	for _, example := range readExamples(f) {
		if !GroupNames().Has(example.content.GroupVersionKind().Group) {
			continue
		}
		hub, err := runtime.Decode(w.codecs.UniversalDecoder(), example.data)
		require.NoError(f, err, example)
		for _, version := range w.find(hub).ServedVersions() {
			text, err := runtime.Encode(w.codecs.LegacyCodec(version), hub)
			require.NoError(f, err, example)
			f.Add(text)
			binary, err := runtime.Encode(w.codecs.EncoderForVersion(wire, version), hub)
			require.NoError(f, err, example)
			f.Add(binary)
		}
	}
}

// FuzzDecode feeds bytes to what a server does with a request: decode and default, complete and
// judge, encode for the store and for each version. Nothing may panic, and what is encoded must
// be read back.
func FuzzDecode(f *testing.F) {
	w := newWorld(f)
	w.seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := runtime.Decode(w.codecs.UniversalDecoder(), data)
		if err != nil {
			return
		}
		kind := w.find(object)
		if kind == nil {
			return
		}
		w.judge(t, kind, object, object.DeepCopyObject())
		for _, version := range kind.ServedVersions() {
			codec := w.codecs.LegacyCodec(version)
			encoded, err := runtime.Encode(codec, object)
			require.NoError(t, err)
			_, err = runtime.Decode(codec, encoded)
			require.NoError(t, err)
		}
	})
}

// FuzzValidate fills two objects of a kind, fields and all, with what the bytes say, and judges the
// change from one to the other. It reaches rules that mutated bytes of a request seldom reach.
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

// fuzzRaw fills embedded JSON with any bytes. Its other field is an interface, which nothing fills.
func fuzzRaw(raw *runtime.RawExtension, c randfill.Continue) {
	*raw = runtime.RawExtension{Raw: []byte(c.String(0))}
}

// judge runs the rules of creating an object, of updating it and of updating its status, in each version.
func (w *world) judge(t *testing.T, kind *kind, object, old runtime.Object) {
	t.Helper()
	strategy, status := kind.Strategy(w.scheme), kind.StatusStrategy(w.scheme)
	for _, version := range kind.ServedVersions() {
		ctx := kind.request(t, version)
		created, updated, reported := object.DeepCopyObject(), object.DeepCopyObject(), object.DeepCopyObject()
		strategy.PrepareForCreate(ctx, created)
		if len(strategy.Validate(ctx, created)) == 0 {
			strategy.WarningsOnCreate(ctx, created)
		}
		strategy.PrepareForUpdate(ctx, updated, old)
		if len(strategy.ValidateUpdate(ctx, updated, old)) == 0 {
			strategy.WarningsOnUpdate(ctx, updated, old)
		}
		status.PrepareForUpdate(ctx, reported, old)
		status.ValidateUpdate(ctx, reported, old)
	}
}
