package controllertest

import (
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/reconcile"
)

// Builder builds a controller, as controller.Of does.
type Builder interface {
	Build() (*reconcile.Controller, error)
}

// Control builds the controller that Pass, Step and Converge run.
func (f *Fixture) Control(builder Builder) {
	f.t.Helper()
	var err error
	f.controller, err = builder.Build()
	require.NoError(f.t, err)
}

// Pass reconciles an object once, with the caches as they are. The namespace of a cluster-scoped object is "".
func (f *Fixture) Pass(namespace, name string) (reconcile.Result, error) {
	return f.controller.Reconcile(f.t.Context(), types.NamespacedName{Namespace: namespace, Name: name})
}

// Step brings the caches up to date and reconciles an object once. It returns the delay until the next reconcile.
func (f *Fixture) Step(namespace, name string) time.Duration {
	f.t.Helper()
	f.Observe()
	result, err := f.Pass(namespace, name)
	require.NoError(f.t, err)
	return result.RequeueAfter
}

// Converge reconciles an object until nothing more is written, and returns the writes.
func (f *Fixture) Converge(namespace, name string) (writes []string) {
	f.t.Helper()
	return f.Settle(func() { f.Step(namespace, name) })
}
