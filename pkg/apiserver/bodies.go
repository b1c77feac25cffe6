package apiserver

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"kruise.io/kruise/pkg/registry/servable"
)

// checkBodies returns codecs that refuse a protobuf body with values that JSON cannot represent. Validation in the
// registry also refuses those values. But field ownership is computed before validation, and that panics for such a
// value. Other encodings cannot contain such values, so they are not checked.
func checkBodies(scheme *runtime.Scheme, codecs runtime.NegotiatedSerializer) (runtime.NegotiatedSerializer, error) {
	// The rules are computed once for each type, because they depend on the type only.
	rules := map[reflect.Type]*servable.Rule{}
	for kind, object := range scheme.AllKnownTypes() {
		if kind.Version != runtime.APIVersionInternal {
			rules[reflect.PointerTo(object)] = servable.For(reflect.PointerTo(object))
		}
	}
	checked := &checkedCodecs{NegotiatedSerializer: codecs}
	for _, info := range codecs.SupportedMediaTypes() {
		if info.MediaType == runtime.ContentTypeProtobuf {
			plain, ok := info.Serializer.(*protobuf.Serializer)
			if !ok {
				return nil, fmt.Errorf("check protobuf bodies: unexpected serializer %T", info.Serializer)
			}
			// As in the codecs of Kubernetes, protobuf has no separate strict serializer.
			serializer := &checkedSerializer{Serializer: plain, rules: rules}
			info.Serializer, info.StrictSerializer = serializer, serializer
		}
		checked.media = append(checked.media, info)
	}
	return checked, nil
}

// checkedCodecs is a serializer whose protobuf entry is replaced. All other methods are those of the original.
type checkedCodecs struct {
	runtime.NegotiatedSerializer
	media []runtime.SerializerInfo
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (c *checkedCodecs) SupportedMediaTypes() []runtime.SerializerInfo { return c.media }

// checkedSerializer only decodes request bodies. The store uses the plain serializer, so stored objects stay readable.
type checkedSerializer struct {
	*protobuf.Serializer
	rules map[reflect.Type]*servable.Rule
}

// Decode implements runtime.Decoder. Its error becomes a 400 answer. Types without a rule, such as delete options,
// are not checked.
func (s *checkedSerializer) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	object, kind, err := s.Serializer.Decode(data, defaults, into)
	if err != nil {
		return nil, kind, err
	}
	if rule, known := s.rules[reflect.TypeOf(object)]; known {
		if err := rule.Validate(object).ToAggregate(); err != nil {
			return nil, kind, err
		}
	}
	return object, kind, nil
}
