package sidecarset

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps"
)

func patching(annotations map[string]string) *apps.SidecarSet {
	return newSet(func(s *apps.SidecarSet) {
		s.Spec.PatchPodMetadata = []apps.SidecarSetPatchPodMetadata{
			{Annotations: map[string]string{}, PatchPolicy: "Retain"}, {Annotations: annotations, PatchPolicy: "Retain"},
		}
	})
}

// Case sidecarset 29: the table of what decides.
func TestAnnotations(t *testing.T) {
	const (
		notFound   = "spec.patchPodMetadata[1].annotations[example.com/a]: Forbidden: the annotation is not allowed, because a whitelist for this SidecarSet is not found"
		notAllowed = "spec.patchPodMetadata[1].annotations[example.com/a]: Forbidden: the annotation is not allowed; to allow it, add an expression"
	)
	for name, test := range map[string]struct {
		config  map[string]string
		off, on string
	}{
		"no ConfigMap":         {nil, notFound, ""},
		"no key":               {map[string]string{"other": "x"}, notFound, ""},
		"no rules":             {map[string]string{allowedKey: `{}`}, notFound, ""},
		"no rule for its team": {map[string]string{allowedKey: `{"rules":[{"selector":{"matchLabels":{"team":"b"}},"allowedAnnotationKeyExprs":["a"]}]}`}, notFound, ""},
		"no expressions":       {map[string]string{allowedKey: `{"rules":[{"allowedAnnotationKeyExprs":[]}]}`}, notFound, ""},
		"allowed for all":      {map[string]string{allowedKey: `{"rules":[{"allowedAnnotationKeyExprs":["^b$","example"]}]}`}, "", ""},
		"allowed for its team": {map[string]string{allowedKey: `{"Rules":[{"selector":{"matchLabels":{"team":"a"}},"allowedAnnotationKeyExprs":["example"]}]}`}, "", ""},
		"another is allowed":   {map[string]string{allowedKey: `{"rules":[{"allowedAnnotationKeyExprs":["^a$"]}]}`}, notAllowed, notAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			for on, want := range map[bool]string{false: test.off, true: test.on} {
				var host []runtime.Object
				if test.config != nil {
					host = append(host, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: configuration, Namespace: own}, Data: test.config})
				}
				plugin, _, _ := newPlugin(t, on, host)
				err := plugin.Validate(t.Context(), attributes(patching(map[string]string{"example.com/a": "x"}), nil, ""), nil)
				if want == "" {
					requireInvalid(t, err)
				} else {
					requireInvalid(t, err, want)
				}
			}
		})
	}
}

// Case configuration 4: the list cannot be read.
func TestBrokenConfiguration(t *testing.T) {
	for text, want := range map[string]string{
		`{"rules":`: "unexpected end of JSON input",
		`{"rules":[{"allowedAnnotationKeyExprs":["("]}]}`:                            `read expression "("`,
		`{"rules":[{"selector":{"matchExpressions":[{"key":"a","operator":"X"}]}}]}`: "read its selector",
	} {
		plugin, _, _ := newPlugin(t, true, []runtime.Object{
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: configuration, Namespace: own}, Data: map[string]string{allowedKey: text}},
		})
		err := plugin.Validate(t.Context(), attributes(patching(map[string]string{"a": "x"}), nil, ""), nil)
		assert.True(t, apierrors.IsInternalError(err))
		assert.ErrorContains(t, err, want)
		assert.NoError(t, plugin.Validate(t.Context(), attributes(newSet(nil), nil, ""), nil), "others are not concerned")
	}
}

// An annotation that was allowed earlier may stay, but only unchanged.
func TestStoredAnnotationsMayStay(t *testing.T) {
	plugin, _, _ := newPlugin(t, false, nil)
	old := patching(map[string]string{"a": "x"})
	changed := func(set *apps.SidecarSet) *apps.SidecarSet {
		set.Spec.Containers[0].Image = "b"
		return set
	}
	requireInvalid(t, plugin.Validate(t.Context(), attributes(changed(patching(map[string]string{"a": "x"})), old, ""), nil))
	requireInvalid(t, plugin.Validate(t.Context(), attributes(changed(patching(map[string]string{"a": "y"})), old, ""), nil), "annotations[a]")
	requireInvalid(t, plugin.Validate(t.Context(), attributes(changed(patching(map[string]string{"a": "x", "b": "x"})), old, ""), nil), "annotations[b]")
}
