package initializer

import (
	"context"

	"k8s.io/apiserver/pkg/admission"

	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
)

// WantsKruiseInformers is a plugin that finds our own kinds by index, in caches of this server's.
type WantsKruiseInformers interface {
	SetKruiseInformers(informers externalversions.SharedInformerFactory)
}

// Budgets changes the statuses of PodUnavailableBudgets where they are stored. Update is called with what is stored now,
// and again whenever somebody else was faster, until the context ends. Its error comes back as it is.
type Budgets interface {
	UpdateStatus(ctx context.Context, namespace, name string, update func(*v1beta1.PodUnavailableBudget) error) error
}

// WantsBudgets is a plugin that spends budgets.
type WantsBudgets interface {
	SetBudgets(budgets Budgets)
}

// WantsStoreCheck is a plugin that would wait for caches of ours: where the store is closed, it need not.
type WantsStoreCheck interface {
	SetStoreCheck(check func() error)
}

// Stores gives plugins what is stored in this server.
type Stores struct {
	Informers externalversions.SharedInformerFactory
	Budgets   Budgets
	// Check returns why the store is not open, or nil.
	Check func() error
}

var _ admission.PluginInitializer = &Stores{}

// Initialize implements admission.PluginInitializer.
func (s *Stores) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(WantsKruiseInformers); ok {
		wants.SetKruiseInformers(s.Informers)
	}
	if wants, ok := plugin.(WantsBudgets); ok {
		wants.SetBudgets(s.Budgets)
	}
	if wants, ok := plugin.(WantsStoreCheck); ok {
		wants.SetStoreCheck(s.Check)
	}
}
