package install_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/apps/validation"
)

// seeds are small objects with many of our own fields, which mutate well.
var seeds = []string{
	`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"name":"a","annotations":{` +
		`"apps.kruise.io/image-predownload-parallelism":"5","apps.kruise.io/v1beta1-fields":"{\"type\":\"OnDelete\"}"}},` +
		`"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` +
		`"spec":{"containers":[{"name":"c","image":"d","volumeMounts":[{"name":"v","mountPath":"/v"}]}]}},` +
		`"volumeClaimTemplates":[{"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"]}}],` +
		`"scaleStrategy":{"podsToDelete":["x","x"],"maxUnavailable":"10%"},` +
		`"updateStrategy":{"type":"InPlaceOnly","partition":"5.5%","maxSurge":1,"scatterStrategy":[{"key":"k","value":"v"}],` +
		`"priorityStrategy":{"weightPriority":[{"weight":1,"matchSelector":{"matchLabels":{"a":"b"}}}]}}}}`,
	`{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"a"},"spec":{"selector":{"matchExpressions":` +
		`[{"key":"a","operator":"In","values":["b"]}]},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":` +
		`[{"name":"c","image":"d"}]}},"updateStrategy":{"type":"OnDelete","rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible",` +
		`"inPlaceUpdateStrategy":{"imagePreDownloadParallelism":2}}},"progressDeadlineSeconds":5}}`,
}

// FuzzDecode feeds bytes to what a server does with a request: decode and default, default
// the template, validate, encode for the store and for each version. Nothing may panic, and
// what is encoded must be read back.
func FuzzDecode(f *testing.F) {
	scheme := newScheme(f)
	codecs := serializer.NewCodecFactory(scheme)
	wire := protobuf.NewSerializer(scheme, scheme)
	for _, seed := range seeds {
		object, err := runtime.Decode(codecs.UniversalDeserializer(), []byte(seed))
		require.NoError(f, err)
		data, err := runtime.Encode(wire, object)
		require.NoError(f, err)
		f.Add([]byte(seed))
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := runtime.Decode(codecs.UniversalDecoder(apps.SchemeGroupVersion), data)
		cloneSet, ok := object.(*apps.CloneSet)
		if err != nil || !ok {
			return
		}
		old := cloneSet.DeepCopy()
		install.DefaultCloneSetTemplate(cloneSet, nil)
		validation.ValidateCloneSet(cloneSet)
		validation.CloneSetErrorsIn("v1alpha1", validation.ValidateCloneSetUpdate(cloneSet, old))
		validation.ValidateCloneSetStatusUpdate(cloneSet, old)
		store := codecs.LegacyCodec(v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion)
		stored, err := runtime.Encode(store, cloneSet)
		require.NoError(t, err)
		_, err = runtime.Decode(store, stored)
		require.NoError(t, err)
		_, err = runtime.Encode(codecs.LegacyCodec(v1alpha1.SchemeGroupVersion), cloneSet)
		require.NoError(t, err)
	})
}
