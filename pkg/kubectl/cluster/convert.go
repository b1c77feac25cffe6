package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/policy"
	policyv1alpha1 "kruise.io/kruise/pkg/apis/policy/v1alpha1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
)

// versions has the types of Kruise and their conversions, as the apiserver has them.
var versions = newVersions()

func newVersions() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apps.AddToScheme, v1alpha1.AddToScheme, v1beta1.AddToScheme,
		policy.AddToScheme, policyv1alpha1.AddToScheme, policyv1beta1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// convert returns the JSON of an object, or of a list of objects, in another version. It changes nothing else, for example a Status or a
// Scale. A field that this release does not know is lost.
func convert(data []byte, version string) ([]byte, error) {
	var head struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   json.RawMessage   `json:"metadata"`
		Items      []json.RawMessage `json:"items"`
	}
	// What is no object is no answer of the API, for example an error page of a proxy. It has no version, which is not registered.
	_ = json.Unmarshal(data, &head)
	from := schema.FromAPIVersionAndKind(head.APIVersion, "").GroupVersion()
	to := schema.GroupVersion{Group: from.Group, Version: version}
	if from == to || !versions.IsVersionRegistered(from) || !versions.IsVersionRegistered(to) {
		return data, nil
	}
	if !strings.HasSuffix(head.Kind, "List") {
		return convertOne(data, from.WithKind(head.Kind), to.WithKind(head.Kind))
	}
	for i, item := range head.Items {
		kind := strings.TrimSuffix(head.Kind, "List")
		converted, err := convertOne(item, from.WithKind(kind), to.WithKind(kind))
		if err != nil {
			return nil, err
		}
		head.Items[i] = converted
	}
	head.APIVersion = to.String()
	return json.Marshal(head)
}

// convertOne converts by the form of the store, as the apiserver does.
func convertOne(data []byte, from, to schema.GroupVersionKind) ([]byte, error) {
	before, err := versions.New(from)
	if err != nil {
		return data, nil //nolint:nilerr // Only a kind of both versions can be converted.
	}
	hub, err := versions.New(schema.GroupKind{Group: from.Group, Kind: from.Kind}.WithVersion(runtime.APIVersionInternal))
	if err != nil {
		return nil, err
	}
	after, err := versions.New(to)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, before); err != nil {
		return nil, fmt.Errorf("read %s: %w", from, err)
	}
	if err := versions.Convert(before, hub, nil); err != nil {
		return nil, fmt.Errorf("convert %s: %w", from, err)
	}
	if err := versions.Convert(hub, after, nil); err != nil {
		return nil, fmt.Errorf("convert %s: %w", to, err)
	}
	after.GetObjectKind().SetGroupVersionKind(to)
	return json.Marshal(after)
}

// convertEvents returns the events of a watch with their objects in v1beta1. Closing it ends the watch.
func convertEvents(body io.ReadCloser) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		decoder, encoder := json.NewDecoder(body), json.NewEncoder(writer)
		for {
			var event struct {
				Type   string          `json:"type"`
				Object json.RawMessage `json:"object"`
			}
			err := decoder.Decode(&event)
			if err == nil {
				event.Object, err = convert(event.Object, newer)
			}
			if err == nil {
				err = encoder.Encode(event)
			}
			if err != nil {
				writer.CloseWithError(err)
				return
			}
		}
	}()
	return &events{PipeReader: reader, body: body}
}

type events struct {
	*io.PipeReader
	body io.Closer
}

// Close ends the goroutine: it fails to read or to write.
func (e *events) Close() error {
	_ = e.PipeReader.Close()
	return e.body.Close()
}
