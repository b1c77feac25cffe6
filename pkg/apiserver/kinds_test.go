package apiserver

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

// kind is a row together with what the tests ask the scheme about it.
type kind struct {
	rest.Row
	hub schema.GroupVersionKind
	// main and status are the row's, made once.
	main, status rest.Strategy
}

// world is what the tests over all kinds share: our groups alone, and every row of them.
type world struct {
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	kinds  []kind
	// protobuf encodes what is stored, texts what people read and write.
	protobuf runtime.Serializer
	texts    []runtime.Serializer
}

func newWorld(t testing.TB) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, group := range groups {
		require.NoError(t, group.install(scheme))
	}
	gate, err := features.New("")
	require.NoError(t, err)
	text := func(options json.SerializerOptions) runtime.Serializer {
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, options)
	}
	w := &world{
		scheme: scheme, codecs: serializer.NewCodecFactory(scheme),
		protobuf: protobuf.NewSerializer(scheme, scheme), texts: []runtime.Serializer{
			text(json.SerializerOptions{Strict: true}),
			text(json.SerializerOptions{Yaml: true}), // Strict would parse it twice, and JSON has shown the fields already.
		},
	}
	for _, row := range Kinds(gate) {
		kinds, _, err := scheme.ObjectKinds(row.NewObject())
		require.NoError(t, err)
		w.kinds = append(w.kinds, kind{
			Row: row, hub: kinds[0], main: row.Strategy(scheme), status: row.StatusStrategy(scheme),
		})
	}
	return w
}

// find returns the row of a hub object, or nil for what is none of a kind, such as a list.
func (w *world) find(object runtime.Object) *kind {
	kinds, _, err := w.scheme.ObjectKinds(object)
	for i := range w.kinds {
		if err == nil && w.kinds[i].hub == kinds[0] {
			return &w.kinds[i]
		}
	}
	return nil
}

// request is the context of a request for an object of the kind in that version.
func (k *kind) request(t testing.TB, version schema.GroupVersion) context.Context {
	t.Helper()
	ctx := genericapirequest.WithRequestInfo(t.Context(), &genericapirequest.RequestInfo{
		APIGroup: version.Group, APIVersion: version.Version, Resource: k.Resource().Resource,
	})
	if k.Describe().ClusterScoped {
		return genericapirequest.WithNamespace(ctx, "")
	}
	return genericapirequest.WithNamespace(ctx, "default")
}
