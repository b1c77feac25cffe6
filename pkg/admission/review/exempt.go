package review

import (
	"context"

	"k8s.io/apiserver/pkg/admission"
)

// Exempt returns the admission chain without reviews, because reviews are questions and not objects. Otherwise a user's
// webhook for all resources would be called for each review, and an outage of that webhook would be an outage of this server.
func Exempt(chain admission.Interface) admission.Interface { return &exempting{Interface: chain} }

// exempting passes on everything except requests of the review group.
type exempting struct {
	admission.Interface
}

var (
	_ admission.MutationInterface   = &exempting{}
	_ admission.ValidationInterface = &exempting{}
)

// Admit implements admission.MutationInterface.
func (e *exempting) Admit(ctx context.Context, attributes admission.Attributes, o admission.ObjectInterfaces) error {
	mutator, ok := e.Interface.(admission.MutationInterface)
	if !ok || attributes.GetResource().Group == GroupName {
		return nil
	}
	return mutator.Admit(ctx, attributes, o)
}

// Validate implements admission.ValidationInterface.
func (e *exempting) Validate(ctx context.Context, attributes admission.Attributes, o admission.ObjectInterfaces) error {
	validator, ok := e.Interface.(admission.ValidationInterface)
	if !ok || attributes.GetResource().Group == GroupName {
		return nil
	}
	return validator.Validate(ctx, attributes, o)
}
