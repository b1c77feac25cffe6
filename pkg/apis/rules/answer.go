package rules

import (
	"fmt"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// mostErrors is how many errors a client is told at once.
	mostErrors = 100
	// longestText is the maximum length of each text in an error, in bytes. It leaves room for the longest names, and for messages that
	// list what is allowed.
	longestText = 2 << 10
)

// Invalid returns the 422 answer for an object that breaks rules. It is for admission plugins; the registry builds the same answer from
// Shown errors.
func Invalid(kind schema.GroupKind, name string, errs field.ErrorList) *apierrors.StatusError {
	return apierrors.NewInvalid(kind, name, Shown(errs))
}

// Shown returns the errors that a client is told: the first hundred, and how many are left out, without the rest of long values. An object
// can have an error for each element of a long list, and can repeat a long value in an error. The library joins all errors into one message
// in a time that grows with the square of their length, and an answer is also written to the audit log.
func Shown(errs field.ErrorList) field.ErrorList {
	shown := make(field.ErrorList, 0, min(len(errs), mostErrors+1))
	for i, err := range errs {
		if i == mostErrors {
			first, _ := cutPath(err.Field)
			return append(shown, &field.Error{
				Type: field.ErrorTypeInvalid, Field: shorten(first), BadValue: field.OmitValueType{},
				Detail: fmt.Sprintf("%d more errors are not listed; correct the listed ones first", len(errs)-mostErrors),
			})
		}
		shown = append(shown, shortened(err))
	}
	return shown
}

// shortened returns the error, or a copy with short texts if one is too long.
func shortened(err *field.Error) *field.Error {
	if len(err.Error()) <= longestText {
		return err
	}
	short := *err
	short.Field, short.Detail = shorten(err.Field), shorten(err.Detail)
	switch value := err.BadValue.(type) {
	case string:
		short.BadValue = shorten(value)
	default:
		// A value that is no text is shown in the form of the library, but as a text, because half of it is no value any more.
		alone := &field.Error{Type: err.Type, BadValue: value}
		if body := strings.TrimPrefix(alone.ErrorBody(), err.Type.String()+": "); len(body) > longestText {
			short.BadValue = shorten(body)
		}
	}
	return &short
}

// shorten cuts a text at the end of a character and says how long it was.
func shorten(text string) string {
	if len(text) <= longestText {
		return text
	}
	end := longestText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:end], len(text))
}
