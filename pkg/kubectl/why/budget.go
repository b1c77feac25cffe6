package why

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/podstate"
)

// budgetCauses are the causes for which a budget refuses disruptions. The order is the one in which they hide each
// other. The last one always applies.
var budgetCauses = []Cause{
	{"not observed", budgetNotObserved},
	{"no Pods", budgetWithoutPods},
	{"allows more", budgetAllows},
	{"never allows any", budgetNeverAllows},
	{"granted disruptions", budgetGranted},
	{"Pods not available", budgetPodsMissing},
	{"used up", budgetUsedUp},
}

// governing returns the budget that governs a Pod, as the controller recorded it on the Pod.
func (f *Facts) governing(pod *corev1.Pod) *v1beta1.PodUnavailableBudget {
	name := cmp.Or(pod.Annotations[pub.RelatedPubKeyNew], pod.Annotations[pub.RelatedPubKey])
	for _, budget := range f.Budgets {
		if budget.Name == name && pod.Annotations[pub.PubNoProtectKey] != "true" {
			return budget
		}
	}
	return nil
}

// aboutBudget returns a finding about the asked budget.
func (f *Facts) aboutBudget(remedy, fact string, args ...any) *Finding {
	return &Finding{Subject: "PodUnavailableBudget " + f.Budget.Name, Fact: fmt.Sprintf(fact, args...), Remedy: remedy}
}

// budgetNotObserved comes first, because the rest of the status is of an older spec then.
func budgetNotObserved(f *Facts) *Finding {
	if f.Budget.Status.ObservedGeneration >= f.Budget.Generation {
		return nil
	}
	return f.aboutBudget("check that the Pods of kruise-controller-manager in kruise-system run",
		"has a change that the controller has not observed, and refuses everything until then")
}

func budgetWithoutPods(f *Facts) *Finding {
	if f.Budget.Status.TotalReplicas > 0 {
		return nil
	}
	return f.aboutBudget("check its selector or its targetRef", "protects no Pods")
}

func budgetAllows(f *Facts) *Finding {
	if f.Budget.Status.UnavailableAllowed <= 0 {
		return nil
	}
	return f.aboutBudget("there is nothing to do", "allows disruptions: %d of %d Pods are available, %d must be",
		f.Budget.Status.CurrentAvailable, f.Budget.Status.TotalReplicas, f.Budget.Status.DesiredAvailable)
}

// budgetNeverAllows finds a budget that would refuse even if all its Pods were available.
func budgetNeverAllows(f *Facts) *Finding {
	s := f.Budget.Status
	if s.DesiredAvailable < s.TotalReplicas {
		return nil
	}
	return f.aboutBudget("raise maxUnavailable or lower minAvailable",
		"requires %d available Pods of %d and never allows a disruption",
		s.DesiredAvailable, s.TotalReplicas)
}

// budgetGranted finds disruptions that were granted a short time ago, and that the Pods do not show yet.
func budgetGranted(f *Facts) *Finding {
	granted := len(f.Budget.Status.DisruptedPods) + len(f.Budget.Status.UnavailablePods)
	if granted == 0 {
		return nil
	}
	return f.aboutBudget("wait until they have happened", "has granted disruptions that have not happened yet: %d", granted)
}

// budgetPodsMissing names the Pods that are not ready, and asks about the first one.
func budgetPodsMissing(f *Facts) *Finding {
	var missing []string
	for _, pod := range f.Pods {
		if f.governing(pod) != nil && !podstate.Ready(pod) {
			missing = append(missing, pod.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return f.aboutBudget("run: kubectl kruise why pod/"+missing[0],
		"allows no disruption because Pods are not ready: %s", strings.Join(missing, ", "))
}

func budgetUsedUp(f *Facts) *Finding {
	s := f.Budget.Status
	return f.aboutBudget("create the missing Pods, or change the budget",
		"allows no disruption: %d of %d Pods are available, %d must be",
		s.CurrentAvailable, s.TotalReplicas, s.DesiredAvailable)
}
