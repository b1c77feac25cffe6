// Package permission builds the answers of admission plugins that ask whether the user may do something else.
package permission

import (
	"errors"
	"fmt"

	"k8s.io/apiserver/pkg/admission"
)

// Refused returns a 403 error. The reason of the authorizer and its error follow the message, if there are any.
func Refused(attributes admission.Attributes, message, reason string, err error) error {
	if reason != "" {
		message += ": " + reason
	}
	if err != nil {
		return admission.NewForbidden(attributes, fmt.Errorf("%s: %w", message, err))
	}
	return admission.NewForbidden(attributes, errors.New(message))
}
