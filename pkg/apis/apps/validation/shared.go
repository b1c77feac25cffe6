package validation

import "kruise.io/kruise/pkg/apis/rules"

// What the rules of all groups share, under the names that it has here.
var (
	notNegative    = rules.NotNegative
	validateAmount = rules.Amount
	resolve        = rules.Resolve
	withoutStored  = rules.WithoutStored
	inVersion      = rules.InVersion
)

type movedField = rules.Moved
