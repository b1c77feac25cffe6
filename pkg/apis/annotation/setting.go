package annotation

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Setting is a setting that an object has both as a field and as a label or an annotation. A version without
// the field shows the setting only in the metadata. A text without a valid value says nothing about the field.
type Setting[T metav1.Object] struct {
	// Key is the key of the annotation, or of the label if Label is true.
	Key   string
	Label bool
	// Has reports whether the object can have the field. If it cannot, its metadata stays. If Has is nil, each
	// object can.
	Has func(obj T) bool
	// Normalize returns a text as Text would return its value, and "" for a text without a valid value.
	Normalize func(text string) string
	// Text returns the field as text. It returns "" if the field is not set.
	Text func(obj T) string
	// Set sets the field to the value of a text. It unsets the field if the text has no valid value.
	Set func(obj T, text string)
}

// Sync makes the fields and the metadata of an object agree after a write. old is the stored object, or an
// empty one on create. If only the metadata changed, the field follows. If only the field changed, metadata
// that the object has follows. If both changed, they stay as they are written. A field that is not set follows the
// metadata in any case: many manifests have only the metadata, and writing one of them again must change nothing. So
// the metadata must be removed to unset such a field.
func Sync[T metav1.Object](settings []Setting[T], obj, old T) {
	for i := range settings {
		s := &settings[i]
		if s.Has != nil && !s.Has(obj) {
			continue
		}
		text, found := s.metadata(obj)[s.Key]
		oldText, oldFound := s.metadata(old)[s.Key]
		changed, field := text != oldText || found != oldFound, s.Text(obj)
		switch {
		case field == "" || field == s.Text(old) && changed:
			s.Set(obj, text)
		case field != s.Text(old) && !changed && found && s.Normalize(text) != field:
			s.put(obj, With(s.metadata(obj), s.Key, field))
		}
	}
}

// ToFields sets the fields of an object that a version without the fields wrote. The metadata stays, except
// for what the version showed only because of a field: ToMetadata returned that as shown.
func ToFields[T metav1.Object](settings []Setting[T], obj T, shown map[string]string) {
	for i := range settings {
		s := &settings[i]
		text, found := s.metadata(obj)[s.Key]
		if !found {
			continue
		}
		if s.Normalize(text) != "" {
			s.Set(obj, text)
		}
		if before, only := shown[s.Key]; only && before == text {
			s.put(obj, Without(s.metadata(obj), s.Key))
		}
	}
}

// ToMetadata sets the metadata of out, which is the object in, in a version without the fields. A field overrides metadata
// with another value. The result is the metadata that in does not have.
func ToMetadata[T metav1.Object](settings []Setting[T], in T, out metav1.Object) (shown map[string]string) {
	for i := range settings {
		s := &settings[i]
		want := s.Text(in)
		text, found := s.metadata(in)[s.Key]
		if want == "" || found && s.Normalize(text) == want {
			continue
		}
		s.put(out, With(s.metadata(out), s.Key, want))
		if !found {
			shown = With(shown, s.Key, want)
		}
	}
	return shown
}

// metadata returns the labels or the annotations of an object.
func (s *Setting[T]) metadata(obj metav1.Object) map[string]string {
	if s.Label {
		return obj.GetLabels()
	}
	return obj.GetAnnotations()
}

func (s *Setting[T]) put(obj metav1.Object, values map[string]string) {
	if s.Label {
		obj.SetLabels(values)
		return
	}
	obj.SetAnnotations(values)
}
