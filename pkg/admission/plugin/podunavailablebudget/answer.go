package podunavailablebudget

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/protectionlog"
	"kruise.io/kruise/pkg/workload/disruption"
)

// answer returns the error for the client. It is 429 for an eviction, as the eviction API of Kubernetes answers for a
// PodDisruptionBudget: kubectl drain and other clients retry it. It is also 429 for a budget that the controller has
// not observed yet, because a retry soon succeeds. Otherwise it is 403. The cause names the budget.
func answer(attributes admission.Attributes, request *disruption.Request, refusal *disruption.Refusal) error {
	var status *apierrors.StatusError
	if request.Operation == v1beta1.PubEvictOperation || refusal.Reason == disruption.NotObserved {
		status = apierrors.NewTooManyRequests(refusal.Error(), int(refusal.RetryAfter()/time.Second))
	} else {
		status = apierrors.NewForbidden(attributes.GetResource().GroupResource(), request.Pod.Name, errors.New(refusal.Error()))
	}
	status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: disruption.Cause, Message: refusal.Namespace + "/" + refusal.Name,
	})
	return status
}

// trace records a refusal in the metric, in the protection log and in events of both the Pod and the budget. It skips
// dry runs, and budgets that the controller has not observed yet, because the client only has to wait for a moment.
func (p *Plugin) trace(
	ctx context.Context, attributes admission.Attributes, request *disruption.Request, budget *v1beta1.PodUnavailableBudget,
	refusal *disruption.Refusal,
) {
	if request.DryRun || refusal.Reason == disruption.NotObserved {
		return
	}
	pod, user := request.Pod, ""
	if info := attributes.GetUserInfo(); info != nil {
		user = info.GetName()
	}
	refused.Count(workloadLabel(pod), user)
	p.log.Write(ctx, protectionlog.Entry{
		Event: protectionlog.PodUnavailableBudget, Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UserAgent: user,
	})
	p.events.Event(pod, corev1.EventTypeWarning, disruption.EventReason, refusal.Error())
	p.events.Eventf(budget, corev1.EventTypeWarning, disruption.EventReason, "%s of Pod %s by %s refused: %s",
		request.Operation, pod.Name, user, refusal.Error())
}

// workloadLabel returns the metric label that names the controller of the Pod, or the Pod itself if it has none.
// Dashboards use this form.
func workloadLabel(pod *corev1.Pod) string {
	if workload, ref := disruption.ControllerOf(pod); ref != nil {
		return strings.Join([]string{workload.Kind, pod.Namespace, workload.Name}, "_")
	}
	return strings.Join([]string{"unknown", pod.Namespace, pod.Name}, "_")
}
