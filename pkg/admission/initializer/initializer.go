package initializer

import (
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// WantsKruiseClientSet is a plugin that reads our own kinds. The client goes to this server, past
// no proxy, as the server itself.
type WantsKruiseClientSet interface {
	SetKruiseClientSet(client versioned.Interface)
}

// WantsKruiseFeatures is a plugin that some Kruise feature gate changes.
type WantsKruiseFeatures interface {
	SetKruiseFeatures(gate featuregate.FeatureGate)
}

// WantsOwnNamespace is a plugin that reads what the programs keep in their namespace.
type WantsOwnNamespace interface {
	SetOwnNamespace(namespace string)
}

// Initializer gives plugins what they ask for.
type Initializer struct {
	client    versioned.Interface
	gate      featuregate.FeatureGate
	namespace string
}

var _ admission.PluginInitializer = &Initializer{}

// New returns an initializer that hands out those.
func New(client versioned.Interface, gate featuregate.FeatureGate, namespace string) *Initializer {
	return &Initializer{client: client, gate: gate, namespace: namespace}
}

// Initialize implements admission.PluginInitializer.
func (i *Initializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(WantsKruiseClientSet); ok {
		wants.SetKruiseClientSet(i.client)
	}
	if wants, ok := plugin.(WantsKruiseFeatures); ok {
		wants.SetKruiseFeatures(i.gate)
	}
	if wants, ok := plugin.(WantsOwnNamespace); ok {
		wants.SetOwnNamespace(i.namespace)
	}
}
