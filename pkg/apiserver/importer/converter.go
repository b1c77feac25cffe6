package importer

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"kruise.io/kruise/pkg/registry/rest"
)

// Object is what the store holds of an imported object.
type Object struct {
	Resource        schema.GroupResource
	Namespace, Name string
	UID             types.UID
	// Key is the key in the store, below the prefix. Value is the encoded object, before encryption.
	Key   string
	Value []byte
	// Changes are the fields that a client reads with another value than before.
	Changes []Change
}

// Converter converts objects of all kinds. It keeps nothing between objects, so it may be used concurrently.
type Converter struct {
	// scheme and strict know all versions of all kinds. strict reports unknown fields, but still returns the object.
	scheme *runtime.Scheme
	strict runtime.Decoder
	// kinds are by their group and kind. maxBytes is the maximum encoded size of an object. Nothing changes after
	// NewConverter.
	kinds    map[schema.GroupKind]kind
	maxBytes int
}

// kind is a registered kind with the codec of its store. hub is the kind of its hub form.
type kind struct {
	rest.AnyKind
	codec    runtime.Codec
	strategy rest.Strategy
	hub      schema.GroupVersionKind
}

// NewConverter returns a converter to what the factory stores. maxBytes is the maximum encoded size of an object. The
// factory must be that of the server that will open the store, so that the import writes the same version and
// encoding.
func NewConverter(scheme *runtime.Scheme, factory serverstorage.StorageFactory, kinds []rest.AnyKind, maxBytes int) (*Converter, error) {
	c := &Converter{
		scheme: scheme, maxBytes: maxBytes, kinds: map[schema.GroupKind]kind{},
		strict: serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(),
	}
	for _, each := range kinds {
		known, _, err := scheme.ObjectKinds(each.NewObject())
		if err != nil {
			return nil, fmt.Errorf("find the kind of %s: %w", each.Resource(), err)
		}
		config, err := factory.NewConfig(each.Resource(), each.NewObject())
		if err != nil {
			return nil, err
		}
		c.kinds[known[0].GroupKind()] = kind{AnyKind: each, codec: config.Codec, strategy: each.Strategy(scheme), hub: known[0]}
	}
	return c, nil
}

// Convert converts an object in JSON. It returns a *Refusal if the store cannot take the object, which is a mistake
// in the object. Other errors mean that the input is no object or that a conversion failed.
func (c *Converter) Convert(ctx context.Context, data []byte) (Object, error) {
	content := map[string]any{}
	if err := utiljson.Unmarshal(data, &content); err != nil {
		return Object{}, fmt.Errorf("read an object: %w", err)
	}
	name := nameOf(content)
	kind, version, problem := c.kindOf(name.GroupVersionKind)
	if problem != nil {
		return Object{}, &Refusal{Name: name, Problems: field.ErrorList{problem}}
	}
	if problems := identity(name, kind.Describe().ClusterScoped, content); len(problems) > 0 {
		return Object{}, &Refusal{Name: name, Problems: problems}
	}
	// An object that cannot be decoded is a mistake in the object and not a failure of the import.
	hub, err := c.decode(data, kind)
	if err != nil {
		return Object{}, &Refusal{Name: name, Problems: field.ErrorList{field.Invalid(field.NewPath(""), field.OmitValueType{}, err.Error())}}
	}
	if problems := c.validate(ctx, kind, version, hub); len(problems) > 0 {
		return Object{}, &Refusal{Name: name, Problems: problems}
	}
	// The revision is that of the other store. This store gives each object a new one when it is read.
	hub.SetResourceVersion("")
	hub.SetSelfLink("")
	value, err := runtime.Encode(kind.codec, hub)
	if err != nil {
		return Object{}, fmt.Errorf("encode %s: %w", name, err)
	}
	if len(value) > c.maxBytes {
		return Object{}, &Refusal{Name: name, Problems: field.ErrorList{tooLarge(len(value), c.maxBytes)}}
	}
	// The comparison uses what was encoded, so it also shows what the stored version cannot keep.
	changes, err := c.changes(kind, version, value, content)
	if err != nil {
		return Object{}, fmt.Errorf("read %s again: %w", name, err)
	}
	return Object{
		Resource: kind.Resource(), Namespace: name.Namespace, Name: name.Name, UID: hub.GetUID(),
		Key: path.Join(kind.Resource().Group, kind.Resource().Resource, name.Namespace, name.Name), Value: value, Changes: changes,
	}, nil
}

// tooLarge says by how much an object exceeds the limit, and what to do.
func tooLarge(size, limit int) *field.Error {
	return field.Invalid(field.NewPath(""), field.OmitValueType{}, fmt.Sprintf("the object has %d bytes, and the server stores at most %d: "+
		"make it smaller, or raise --max-object-bytes of the server (apiserver.extraArgs of the chart)", size, limit))
}

// kindOf returns the kind of an object and the version in which it was read. The problem names the supported values.
func (c *Converter) kindOf(gvk schema.GroupVersionKind) (kind, schema.GroupVersion, *field.Error) {
	known, found := c.kinds[gvk.GroupKind()]
	if !found {
		return kind{}, schema.GroupVersion{}, field.NotSupported(field.NewPath("kind"), gvk.GroupKind().String(), c.kindNames())
	}
	served := known.ServedVersions()
	if !slices.Contains(served, gvk.GroupVersion()) {
		var names []string
		for _, version := range served {
			names = append(names, version.String())
		}
		return kind{}, schema.GroupVersion{}, field.NotSupported(field.NewPath("apiVersion"), gvk.GroupVersion().String(), names)
	}
	return known, gvk.GroupVersion(), nil
}

// kindNames returns the names of all kinds, sorted, for messages.
func (c *Converter) kindNames() []string {
	var names []string
	for kind := range c.kinds {
		names = append(names, kind.String())
	}
	slices.Sort(names)
	return names
}

// identity checks the fields that the API sets by itself, and that only an import can keep. An object without a UID
// was never stored, so no owner reference can name it.
func identity(name Name, clusterScoped bool, content map[string]any) field.ErrorList {
	var problems field.ErrorList
	at := field.NewPath("metadata")
	for _, reason := range validation.NameIsDNSSubdomain(name.Name, false) {
		problems = append(problems, field.Invalid(at.Child("name"), name.Name, reason))
	}
	switch {
	case clusterScoped && name.Namespace != "":
		problems = append(problems, field.Forbidden(at.Child("namespace"), "the kind has no namespace"))
	case !clusterScoped && name.Namespace == "":
		problems = append(problems, field.Required(at.Child("namespace"), "the kind has a namespace"))
	}
	metadata, _ := content["metadata"].(map[string]any)
	for _, key := range []string{"uid", "creationTimestamp"} {
		if text, _ := metadata[key].(string); text == "" {
			problems = append(problems, field.Required(at.Child(key), "only an object that a server has stored can be imported"))
		}
	}
	return problems
}

// decode returns the object in its hub version, with defaults. Unknown fields are lost, and show up in the changes.
// So an unknown field does not prevent an import.
func (c *Converter) decode(data []byte, kind kind) (rest.Object, error) {
	versioned, _, err := c.strict.Decode(data, nil, nil)
	if err != nil && (!runtime.IsStrictDecodingError(err) || versioned == nil) {
		return nil, err
	}
	c.scheme.Default(versioned)
	hub := kind.NewObject()
	if err := c.scheme.Convert(versioned, hub, nil); err != nil {
		return nil, err
	}
	return hub, nil
}

// validate applies the rules for a new object. The object is completed first, as a request would be, but it is not
// stored like that: what is completed depends on the release, and would start a rollout. The rules need the request
// in ctx, because some depend on the version.
func (c *Converter) validate(ctx context.Context, kind kind, version schema.GroupVersion, hub rest.Object) field.ErrorList {
	ctx = genericapirequest.WithNamespace(ctx, hub.GetNamespace())
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: version.Group, APIVersion: version.Version, Resource: kind.Resource().Resource,
	})
	completed := hub.DeepCopyObject()
	kind.strategy.PrepareForCreate(ctx, completed)
	return kind.strategy.Validate(ctx, completed)
}

// changes compares what the client wrote with what it will read in the same version.
func (c *Converter) changes(kind kind, version schema.GroupVersion, value []byte, before map[string]any) ([]Change, error) {
	stored, err := runtime.Decode(kind.codec, value)
	if err != nil {
		return nil, err
	}
	read, err := c.scheme.ConvertToVersion(stored, version)
	if err != nil {
		return nil, err
	}
	after, err := runtime.DefaultUnstructuredConverter.ToUnstructured(read)
	if err != nil {
		return nil, err
	}
	return compare(before, after), nil
}

// Name says which object is meant.
type Name struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// String returns the kind and the name as kubectl prints them, for example "cloneset.apps.kruise.io shop/web".
func (n Name) String() string {
	return strings.TrimPrefix(strings.ToLower(n.Kind)+"."+n.Group, ".") + " " + strings.TrimPrefix(n.Namespace+"/"+n.Name, "/")
}

// nameOf reads the name of an object. Missing or wrong fields are empty, and are reported later by the checks.
func nameOf(content map[string]any) Name {
	text := func(from map[string]any, key string) string { value, _ := from[key].(string); return value }
	metadata, _ := content["metadata"].(map[string]any)
	return Name{
		GroupVersionKind: schema.FromAPIVersionAndKind(text(content, "apiVersion"), text(content, "kind")),
		Namespace:        text(metadata, "namespace"), Name: text(metadata, "name"),
	}
}

// Refusal says why an object cannot be imported, with one problem for each field.
type Refusal struct {
	Name     Name
	Problems field.ErrorList
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s: %v", r.Name, r.Problems.ToAggregate())
}
