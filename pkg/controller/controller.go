package controller

import "kruise.io/kruise/pkg/reconcile"

// The parts of a controller are those of package reconcile, which the node agent shares.
type (
	// Controller calls a Reconcile for each key that a watch names.
	Controller = reconcile.Controller
	// Reconcile brings the object of a key one step on.
	Reconcile = reconcile.Reconcile
	// Result says when a key is looked at again.
	Result = reconcile.Result
	// Options are what the command line sets for each controller.
	Options = reconcile.Options
	// Metrics count what controllers do.
	Metrics = reconcile.Metrics
	// Mapper names the keys that an object concerns.
	Mapper = reconcile.Mapper
	// Filter chooses the changes that count.
	Filter = reconcile.Filter
	// Differ names the keys that a change concerns.
	Differ = reconcile.Differ
)

// New makes a controller that runs nothing yet.
func New(name string, options Options, reconciler Reconcile) *Controller {
	return reconcile.New(name, options, reconciler)
}

// NewMetrics makes the metrics; Register shows them.
func NewMetrics() *Metrics { return reconcile.NewMetrics() }
