package policy

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"kruise.io/kruise/pkg/apis/policy"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/workload/groupcommit"
)

// Budgets lets admission update the status of budgets in the store without a request. Concurrent updates of one budget are
// combined into one write. A Budgets is created before the store is open, and UpdateStatus fails until the kind is served.
type Budgets struct {
	status genericrest.Updater
	writer *groupcommit.Writer[types.NamespacedName, *v1beta1.PodUnavailableBudget]
}

// NewBudgets returns a Budgets whose store is not open yet.
func NewBudgets() *Budgets {
	b := &Budgets{}
	b.writer = groupcommit.New(b.write)
	return b
}

const budgetResource = "podunavailablebudgets"

// open keeps the storage of /status, unless b is nil.
func (b *Budgets) open(storages map[string]genericrest.Storage) {
	if status, ok := storages[budgetResource+"/status"].(genericrest.Updater); ok && b != nil {
		b.status = status
	}
}

// UpdateStatus calls update with the stored budget and stores the new status unless nothing changed. After a conflict
// it calls update again with the newer budget, until ctx ends. It returns an error of update unchanged; update must
// not have changed the budget then.
func (b *Budgets) UpdateStatus(
	ctx context.Context, namespace, name string, update func(*v1beta1.PodUnavailableBudget) error,
) error {
	if b.status == nil {
		return apierrors.NewServiceUnavailable("the store of PodUnavailableBudgets is not open yet")
	}
	return b.writer.Do(ctx, types.NamespacedName{Namespace: namespace, Name: name}, update)
}

// write stores the combined update of a budget for all its waiting callers. The context belongs to one of them, which
// may already have its answer. So write discards warnings.
func (b *Budgets) write(ctx context.Context, key types.NamespacedName, update func(*v1beta1.PodUnavailableBudget) error) error {
	ctx = genericapirequest.WithNamespace(genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "update", APIGroup: policy.GroupName, APIVersion: v1beta1.SchemeGroupVersion.Version,
		Resource: budgetResource, Subresource: "status", Namespace: key.Namespace, Name: key.Name,
	}), key.Namespace)
	change := func(_ context.Context, _, stored runtime.Object) (runtime.Object, error) {
		return changeStatus(stored, update)
	}
	_, _, err := b.status.Update(warning.WithWarningRecorder(ctx, nil), key.Name, genericrest.DefaultUpdatedObjectInfo(nil, change),
		nil, nil, false, &metav1.UpdateOptions{})
	return err
}

// changeStatus works on a copy, because the stored object may be in a cache.
func changeStatus(stored runtime.Object, update func(*v1beta1.PodUnavailableBudget) error) (runtime.Object, error) {
	budget, ok := stored.(*policy.PodUnavailableBudget)
	if !ok {
		return nil, errors.New("the stored object is not a PodUnavailableBudget")
	}
	changed := budget.DeepCopy()
	versioned := &v1beta1.PodUnavailableBudget{}
	if err := v1beta1.Convert_policy_PodUnavailableBudget_To_v1beta1_PodUnavailableBudget(changed, versioned, nil); err != nil {
		return nil, fmt.Errorf("convert PodUnavailableBudget %s: %w", budget.Name, err)
	}
	if err := update(versioned); err != nil {
		return nil, err
	}
	changed.Status = policy.PodUnavailableBudgetStatus(versioned.Status)
	return changed, nil
}
