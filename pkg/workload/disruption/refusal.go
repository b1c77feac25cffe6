package disruption

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// Cause is the type of the status cause in a refusal by a budget.
const Cause metav1.CauseType = "PodUnavailableBudget"

// EventReason and EventSource are the reason and the component of the event about a refusal on its Pod. Tools of users filter by
// them.
const (
	EventReason = "PubPreventPodDeletion"
	EventSource = "pub-controller"
)

// Reason is why a budget refuses a request.
type Reason int

const (
	// Exhausted means that the budget allows no further disruption now.
	Exhausted Reason = iota
	// TooManyGrants means that the status already holds the maximum number of grants.
	TooManyGrants
	// NotObserved means that the controller has not yet counted for the budget's current generation.
	NotObserved
	// GrantUsedUp means that the disruption was granted, did not happen, and was asked for again until its grant could not be renewed
	// any more.
	GrantUsedUp
)

// Refusal is the error of a request that a budget refuses.
type Refusal struct {
	Reason Reason
	// Namespace and Name identify the budget.
	Namespace, Name string
	// status is what the decision was made from. Error shows its numbers.
	status v1beta1.PodUnavailableBudgetStatus
	// pod, since and ends describe the grant of GrantUsedUp.
	pod         string
	since, ends time.Time
}

// refuse returns the refusal of a budget. It copies the status, because the caller may change the budget.
func refuse(budget *v1beta1.PodUnavailableBudget, reason Reason) error {
	return &Refusal{Reason: reason, Namespace: budget.Namespace, Name: budget.Name, status: budget.Status}
}

// RetryAfter returns the delay after which a retry may succeed, or zero if it is unknown. Client libraries retry silently when
// the answer names a delay. They report the refusal to the user when it does not.
func (r *Refusal) RetryAfter() time.Duration {
	if r.Reason == NotObserved {
		return time.Second
	}
	return 0
}

// Error says which budget refused, how much of it is left, and what to do. Programs of users search for phrases in this text, so
// the phrases must stay.
func (r *Refusal) Error() string {
	budget := r.Namespace + "/" + r.Name
	switch r.Reason {
	case TooManyGrants:
		return fmt.Sprintf("PodUnavailableBudget %s: DisruptedPods and UnavailablePods map too big: %d granted disruptions are not observed "+
			"yet; try again in a few seconds", budget, len(r.status.DisruptedPods)+len(r.status.UnavailablePods))
	case NotObserved:
		return fmt.Sprintf("PodUnavailableBudget %s is not observed yet: it is new or was changed, and its Pods have not been counted "+
			"since; try again in a second", budget)
	case GrantUsedUp:
		return fmt.Sprintf("PodUnavailableBudget %s: the disruption of Pod %s was allowed at %s and has not happened; another admission "+
			"webhook or policy may refuse it; try again after %s, when this grant has ended", budget, r.pod,
			r.since.UTC().Format(time.RFC3339), r.ends.UTC().Format(time.RFC3339))
	case Exhausted:
	}
	return fmt.Sprintf("PodUnavailableBudget %s: pub unavailable allowed is negative: no disruption allowed now, %d are allowed of %d "+
		"available Pods, %d of %d replicas must stay available; try again when more Pods are available, change the budget, or annotate "+
		"the Pod %s=true", budget, r.status.UnavailableAllowed, r.status.CurrentAvailable, r.status.DesiredAvailable,
		r.status.TotalReplicas, pub.PubNoProtectKey)
}
