package initializer

import (
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/metadata"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/admission/protectionlog"
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

// WantsMetadataClient is a plugin that reads objects of the host cluster of whatever kind.
type WantsMetadataClient interface {
	SetMetadataClient(client metadata.Interface)
}

// WantsProtectionLog is a plugin that writes down whom it refused.
type WantsProtectionLog interface {
	SetProtectionLog(log *protectionlog.Log)
}

// Initializer gives plugins what they ask for.
type Initializer struct {
	Kruise        versioned.Interface
	Features      featuregate.FeatureGate
	Namespace     string
	Metadata      metadata.Interface
	ProtectionLog *protectionlog.Log
}

var _ admission.PluginInitializer = &Initializer{}

// Initialize implements admission.PluginInitializer.
func (i *Initializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(WantsKruiseClientSet); ok {
		wants.SetKruiseClientSet(i.Kruise)
	}
	if wants, ok := plugin.(WantsKruiseFeatures); ok {
		wants.SetKruiseFeatures(i.Features)
	}
	if wants, ok := plugin.(WantsOwnNamespace); ok {
		wants.SetOwnNamespace(i.Namespace)
	}
	if wants, ok := plugin.(WantsMetadataClient); ok {
		wants.SetMetadataClient(i.Metadata)
	}
	if wants, ok := plugin.(WantsProtectionLog); ok {
		wants.SetProtectionLog(i.ProtectionLog)
	}
}
