package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// patchAttempts is how often a patch is made again after another client changed the object.
const patchAttempts = 5

// patch applies a patch here, and sends the difference as a merge patch in the served version. The difference has only what the patch
// changes, so fields that this release does not know stay. It has the resourceVersion that was read, so no other change is lost.
func (t *transport) patch(c *call, served string) (response *http.Response, err error) {
	for attempt := range patchAttempts {
		var stale bool
		if response, stale, err = t.patchOnce(c, served); err != nil || !stale || attempt == patchAttempts-1 {
			break
		}
		discard(response)
	}
	return response, err
}

// patchOnce returns stale if the object changed in between, and the patch does not say which one it is for.
func (t *transport) patchOnce(c *call, served string) (response *http.Response, stale bool, err error) {
	read := &call{Request: c.Clone(c.Context()), prefix: c.prefix, suffix: c.suffix}
	read.URL.RawQuery = ""
	read.Header.Del("Content-Type")
	if response, err = t.send(read, http.MethodGet, served, nil); err != nil || response.StatusCode != http.StatusOK {
		return response, false, err
	}
	stored, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, false, err
	}
	before, err := convert(stored, c.Version)
	if err != nil {
		return nil, false, err
	}
	after, err := c.apply(before)
	if err != nil {
		return statusOf(c, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error()), false, nil
	}
	difference, conditional, err := differenceOf(before, after, served)
	if err != nil {
		return nil, false, err
	}
	write := &call{Request: c.Clone(c.Context()), prefix: c.prefix, suffix: c.suffix}
	write.Header.Set("Content-Type", string(types.MergePatchType))
	if response, err = t.send(write, http.MethodPatch, served, difference); err != nil {
		return nil, false, err
	}
	if response.StatusCode == http.StatusConflict && !conditional {
		return response, true, nil
	}
	response, err = inVersion(response, c.Version)
	return response, false, err
}

// apply returns the object after the patch of the call.
func (c *call) apply(before []byte) ([]byte, error) {
	switch {
	case c.is(types.MergePatchType):
		return jsonpatch.MergePatch(before, c.body)
	case c.is(types.JSONPatchType):
		patch, err := jsonpatch.DecodePatch(c.body)
		if err != nil {
			return nil, err
		}
		return patch.Apply(before)
	}
	var object metav1.TypeMeta
	if err := json.Unmarshal(before, &object); err != nil {
		return nil, err
	}
	typed, err := versions.New(object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatch(before, c.body, typed)
}

// differenceOf returns a merge patch between two forms of an object, in a version. conditional is true if the one after has another
// resourceVersion: then the patch named it, and the server must check that one.
func differenceOf(before, after []byte, version string) (patch []byte, conditional bool, err error) {
	var forms [2][]byte
	var read [2]unstructured.Unstructured
	for i, form := range [][]byte{before, after} {
		if forms[i], err = convert(form, version); err != nil {
			return nil, false, err
		}
		if err := json.Unmarshal(forms[i], &read[i].Object); err != nil {
			return nil, false, fmt.Errorf("read an object: %w", err)
		}
	}
	if patch, err = jsonpatch.CreateMergePatch(forms[0], forms[1]); err != nil {
		return nil, false, fmt.Errorf("compare two forms of %s: %w", read[0].GetName(), err)
	}
	difference := map[string]any{}
	if err := json.Unmarshal(patch, &difference); err != nil {
		return nil, false, fmt.Errorf("read a patch: %w", err)
	}
	metadata, _ := difference["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		difference["metadata"] = metadata
	}
	current, wanted := read[0].GetResourceVersion(), read[1].GetResourceVersion()
	metadata["resourceVersion"] = cmp.Or(wanted, current)
	patch, err = json.Marshal(difference)
	return patch, cmp.Or(wanted, current) != current, err
}
