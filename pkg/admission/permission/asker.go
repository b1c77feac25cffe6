package permission

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Asker asks whether the user of a request may do something else. An admission plugin embeds it. An initializer sets its authorizer.
type Asker struct{ authorizer authorizer.Authorizer }

var (
	_ initializer.WantsAuthorizer       = &Asker{}
	_ admission.InitializationValidator = &Asker{}
)

// SetAuthorizer implements initializer.WantsAuthorizer.
func (a *Asker) SetAuthorizer(authorizer authorizer.Authorizer) { a.authorizer = authorizer }

// ValidateInitialization implements admission.InitializationValidator.
func (a *Asker) ValidateInitialization() error {
	if a.authorizer == nil {
		return errors.New("the plugin needs an authorizer")
	}
	return nil
}

// Require returns a 403 error with the message unless the user of the request may do what is asked. The caller sets the verb, the resource
// and, if it has them, its namespace and name.
func (a *Asker) Require(ctx context.Context, attributes admission.Attributes, asked authorizer.AttributesRecord, message string) error {
	asked.User, asked.ResourceRequest = attributes.GetUserInfo(), true
	decision, reason, err := a.authorizer.Authorize(ctx, asked)
	if decision == authorizer.DecisionAllow {
		return nil
	}
	return Refused(attributes, message, reason, err)
}
