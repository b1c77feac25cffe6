package initializer

import (
	"context"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/tools/cache"

	appsv1beta1 "kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/generated/informers/externalversions"
)

// WantsKruiseInformers is implemented by a plugin that looks up Kruise objects by index in the caches of this server.
// The plugin adds its indexers here. It cannot add them later, because the informers are started after the
// initialization.
type WantsKruiseInformers interface {
	SetKruiseInformers(informers externalversions.SharedInformerFactory)
}

// Budgets updates the status of PodUnavailableBudgets in the store. UpdateStatus calls update with the stored object.
// After a conflict it calls update again with the newer object, until ctx ends. It returns the error of update unchanged.
type Budgets interface {
	UpdateStatus(ctx context.Context, namespace, name string, update func(*v1beta1.PodUnavailableBudget) error) error
}

// WantsBudgets is implemented by a plugin that reserves disruptions in budgets.
type WantsBudgets interface {
	SetBudgets(budgets Budgets)
}

// Spreads updates the status of WorkloadSpreads in the store, as Budgets does for its kind.
type Spreads interface {
	UpdateStatus(ctx context.Context, namespace, name string, update func(*appsv1beta1.WorkloadSpread) error) error
}

// WantsSpreads is implemented by a plugin that reserves or returns slots of WorkloadSpreads.
type WantsSpreads interface {
	SetSpreads(spreads Spreads)
}

// WantsSidecarRevisions is implemented by a plugin that reads the stored revisions of SidecarSets. They are
// ControllerRevisions of the host cluster, so they do not come with the informers of WantsKruiseInformers.
type WantsSidecarRevisions interface {
	SetSidecarRevisions(informer cache.SharedIndexInformer)
}

// WantsCurrentSidecarSets is implemented by a plugin that must act on each SidecarSet whose write was answered before, by any server.
// await returns when the cache of this server shows them, or an error if that takes too long. It is nil if no other server can write.
type WantsCurrentSidecarSets interface {
	SetCurrentSidecarSets(await func(ctx context.Context) error)
}

// WantsStoreCheck is implemented by a plugin that waits for Kruise caches. If the store is closed, the caches cannot
// be filled, so the plugin answers with the reason at once and does not wait.
type WantsStoreCheck interface {
	SetStoreCheck(check func() error)
}

// Stores passes access to the objects stored in this server. It is an initializer of its own, because Initializer
// only needs clients, and these fields need the server's storage.
type Stores struct {
	Informers externalversions.SharedInformerFactory
	Budgets   Budgets
	Spreads   Spreads
	// SidecarRevisions has the ControllerRevisions of the system namespace.
	SidecarRevisions cache.SharedIndexInformer
	// CurrentSidecarSets waits until the cache of SidecarSets is as new as the store. It is nil if no other server can write.
	CurrentSidecarSets func(ctx context.Context) error
	// Check returns nil if the store is open, else the reason why it is closed.
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
	if wants, ok := plugin.(WantsSpreads); ok {
		wants.SetSpreads(s.Spreads)
	}
	if wants, ok := plugin.(WantsSidecarRevisions); ok {
		wants.SetSidecarRevisions(s.SidecarRevisions)
	}
	if wants, ok := plugin.(WantsCurrentSidecarSets); ok {
		wants.SetCurrentSidecarSets(s.CurrentSidecarSets)
	}
	if wants, ok := plugin.(WantsStoreCheck); ok {
		wants.SetStoreCheck(s.Check)
	}
}
