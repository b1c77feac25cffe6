package budgetconflicts

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/apis/policy/validation"
	"kruise.io/kruise/pkg/apis/rules"
)

// PluginName is the plugin's name in flags.
const PluginName = "PodUnavailableBudgetConflicts"

// Register adds the plugin.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// Plugin checks a new budget for conflicts with other budgets.
type Plugin struct {
	*admission.Handler
	initializer.KruiseClient
}

// The server recognizes the interfaces of a plugin by type assertion, so a method with a wrong signature would be
// ignored silently.
var (
	_ admission.ValidationInterface     = &Plugin{}
	_ admission.InitializationValidator = &Plugin{}
)

// New returns a plugin. An initializer sets its dependencies. The plugin only checks creations, because the target of
// a budget is immutable.
func New() *Plugin { return &Plugin{Handler: admission.NewHandler(admission.Create)} }

// ValidateInitialization implements admission.InitializationValidator. It needs the Kruise client only.
func (p *Plugin) ValidateInitialization() error {
	return initializer.Initialized(PluginName, &p.KruiseClient)
}

// Validate refuses a budget that conflicts with another budget. The answer is 422 with one cause for each conflict.
// If the other budgets cannot be read, the creation fails too, because a conflict could not be found later: the
// target is immutable.
func (p *Plugin) Validate(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	budget, ok := attributes.GetObject().(*policy.PodUnavailableBudget)
	if !ok || attributes.GetSubresource() != "" {
		return nil
	}
	others, err := p.others(ctx, attributes.GetNamespace())
	if err != nil {
		return err
	}
	if errs := validation.ValidatePodUnavailableBudgetConflicts(budget, others); len(errs) > 0 {
		return rules.Invalid(policy.Kind("PodUnavailableBudget"), budget.Name, errs)
	}
	return nil
}

// others returns the stored budgets of a namespace in the hub form, which the validation package compares. It reads
// live, because a cache could miss a budget that was created a moment ago. The new budget is not among them.
func (p *Plugin) others(ctx context.Context, namespace string) ([]*policy.PodUnavailableBudget, error) {
	list, err := p.Kruise.PolicyV1beta1().PodUnavailableBudgets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the namespace's PodUnavailableBudgets: %w", err)
	}
	others := make([]*policy.PodUnavailableBudget, 0, len(list.Items))
	for i := range list.Items {
		other := &policy.PodUnavailableBudget{}
		if err := v1beta1.Convert_v1beta1_PodUnavailableBudget_To_policy_PodUnavailableBudget(&list.Items[i], other, nil); err != nil {
			return nil, fmt.Errorf("convert PodUnavailableBudget %s: %w", list.Items[i].Name, err)
		}
		others = append(others, other)
	}
	return others, nil
}
