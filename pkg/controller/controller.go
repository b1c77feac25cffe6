package controller

import "kruise.io/kruise/pkg/reconcile"

// The parts of a controller are those of package reconcile, which the node agent shares.
type (
	// Controller runs a reconcile for each key.
	Controller = reconcile.Controller
	Reconcile  = reconcile.Reconcile
	Result     = reconcile.Result
	Options    = reconcile.Options
	Metrics    = reconcile.Metrics
	Mapper     = reconcile.Mapper
	Filter     = reconcile.Filter
	Differ     = reconcile.Differ
)

// New makes a controller that runs nothing yet.
func New(name string, options Options, reconciler Reconcile) *Controller {
	return reconcile.New(name, options, reconciler)
}

// NewMetrics makes the metrics; Register shows them.
func NewMetrics() *Metrics { return reconcile.NewMetrics() }
