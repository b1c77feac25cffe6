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

// kind is a registered kind with its hub and its strategies.
type kind struct {
	rest.AnyKind
	hub schema.GroupVersionKind
	// main and status are the strategies of the kind, created once.
	main, status rest.Strategy
}

// world is shared by the tests over all kinds. It contains only the Kruise groups, with all their kinds.
type world struct {
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	kinds  []kind
	// protobuf is the encoding of the store. texts are the encodings that people read and write.
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
			text(json.SerializerOptions{Yaml: true}), // Strict mode would parse the text twice, and the JSON case already checks for unknown fields.
		},
	}
	for _, registered := range Kinds(gate) {
		kinds, _, err := scheme.ObjectKinds(registered.NewObject())
		require.NoError(t, err)
		w.kinds = append(w.kinds, kind{
			AnyKind: registered, hub: kinds[0], main: registered.Strategy(scheme), status: registered.StatusStrategy(scheme),
		})
	}
	return w
}

// find returns the kind of a hub object. It returns nil if the object has no kind in the table, for example a list.
func (w *world) find(object runtime.Object) *kind {
	kinds, _, err := w.scheme.ObjectKinds(object)
	for i := range w.kinds {
		if err == nil && w.kinds[i].hub == kinds[0] {
			return &w.kinds[i]
		}
	}
	return nil
}

// request returns the context of a request for the kind in the given version.
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
