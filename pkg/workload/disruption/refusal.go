package disruption

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// Cause is the type of the cause in a Status that says that a budget refused.
const Cause metav1.CauseType = "PodUnavailableBudget"

// Reason is why a budget refuses.
type Reason int

const (
	// Exhausted is a budget of which nothing is left.
	Exhausted Reason = iota
	// TooManyGrants is a budget with as many grants as fit.
	TooManyGrants
	// NotObserved is a budget whose newest form nobody has counted for yet.
	NotObserved
)

// Refusal is the answer of a budget that does not let a Pod go.
type Refusal struct {
	Reason Reason
	// Namespace and Name are the budget's.
	Namespace, Name string
	status          v1beta1.PodUnavailableBudgetStatus
}

func refuse(budget *v1beta1.PodUnavailableBudget, reason Reason) error {
	return &Refusal{Reason: reason, Namespace: budget.Namespace, Name: budget.Name, status: budget.Status}
}

// RetryAfter is when the same request may be answered otherwise, or zero where nobody knows. Client libraries ask again by themselves
// when a time is named, instead of telling their users of the refusal.
func (r *Refusal) RetryAfter() time.Duration {
	if r.Reason == NotObserved {
		return time.Second
	}
	return 0
}

// Error says which budget refused, how much of it is left, and what to do. Users' programs look for the phrases in it.
func (r *Refusal) Error() string {
	budget := r.Namespace + "/" + r.Name
	switch r.Reason {
	case TooManyGrants:
		return fmt.Sprintf("PodUnavailableBudget %s: DisruptedPods and UnavailablePods map too big: %d granted disruptions were not seen "+
			"yet; try again in a few seconds", budget, len(r.status.DisruptedPods)+len(r.status.UnavailablePods))
	case NotObserved:
		return fmt.Sprintf("PodUnavailableBudget %s is not observed yet: it is new or was changed, and its Pods have not been counted "+
			"since; try again in a second", budget)
	case Exhausted:
	}
	return fmt.Sprintf("PodUnavailableBudget %s: pub unavailable allowed is negative: no disruption allowed now, %d are allowed of %d "+
		"available Pods, %d of %d replicas must stay available; try again when more Pods are available, change the budget, or annotate "+
		"the Pod %s=true", budget, r.status.UnavailableAllowed, r.status.CurrentAvailable, r.status.DesiredAvailable,
		r.status.TotalReplicas, pub.PubNoProtectKey)
}
