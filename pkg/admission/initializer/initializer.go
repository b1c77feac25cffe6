package initializer

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/protectionlog"
)

// WantsKruiseClientSet is implemented by a plugin that reads Kruise kinds. The client connects directly to this
// server, without a proxy, and with the server's own identity.
type WantsKruiseClientSet interface {
	SetKruiseClientSet(client versioned.Interface)
}

// OwnerReader reads the metadata of Kruise objects directly from this server.
type OwnerReader interface {
	// Has reports whether a group is one of Kruise.
	Has(group string) bool
	// Get returns the metadata of an object of any kind. It ignores the namespace if the kind has none. The error is NotFound only
	// if the store says so, and never because a kind or version is not served.
	Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*metav1.PartialObjectMetadata, error)
	// Dependents returns the objects that name an owner, for example "clonesets.apps.kruise.io/web". They are in the namespace of the
	// owner, or in any namespace if that is empty.
	Dependents(ctx context.Context, namespace string, owner types.UID) ([]string, error)
}

// WantsKruiseOwners is implemented by a plugin that reads Kruise objects of any kind.
type WantsKruiseOwners interface {
	SetKruiseOwners(owners OwnerReader)
}

// WantsKruiseFeatures is implemented by a plugin that depends on a Kruise feature gate.
type WantsKruiseFeatures interface {
	SetKruiseFeatures(gate featuregate.FeatureGate)
}

// WantsOwnNamespace is implemented by a plugin that reads objects in the namespace of the Kruise programs.
type WantsOwnNamespace interface {
	SetOwnNamespace(namespace string)
}

// WantsMetadataClient is implemented by a plugin that reads objects of any kind in the host cluster.
type WantsMetadataClient interface {
	SetMetadataClient(client metadata.Interface)
}

// WantsProtectionLog is implemented by a plugin that logs its refusals.
type WantsProtectionLog interface {
	SetProtectionLog(log *protectionlog.Log)
}

// WantsReviewClients is implemented by a plugin that reads the host cluster to answer reviews. Each such plugin gets clients with
// a rate limit of its own, so that writes of Kruise objects, however many, do not delay evictions and Pod creations. It is called
// after SetExternalKubeClientSet and SetMetadataClient, which set the clients that the other plugins share.
type WantsReviewClients interface {
	SetReviewClients(host kubernetes.Interface, metadata metadata.Interface)
}

// Initializer sets the dependencies that plugins request.
// Kruise, Owners, Features, Namespace, Metadata and ProtectionLog are shared by all plugins. Each one is required: a
// plugin that asks for a dependency and gets nil fails its ValidateInitialization.
type Initializer struct {
	Kruise        versioned.Interface
	Owners        OwnerReader
	Features      featuregate.FeatureGate
	Namespace     string
	Metadata      metadata.Interface
	ProtectionLog *protectionlog.Log
	// ReviewClients returns new clients of the host cluster at each call. If it is nil, plugins share their clients.
	ReviewClients func() (kubernetes.Interface, metadata.Interface)
}

var _ admission.PluginInitializer = &Initializer{}

// Initialize implements admission.PluginInitializer. The generic server calls it once for each enabled plugin, before
// ValidateInitialization.
func (i *Initializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(WantsKruiseClientSet); ok {
		wants.SetKruiseClientSet(i.Kruise)
	}
	if wants, ok := plugin.(WantsKruiseOwners); ok {
		wants.SetKruiseOwners(i.Owners)
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
	// This is the last step, because these clients replace the shared ones that were set before.
	if wants, ok := plugin.(WantsReviewClients); ok && i.ReviewClients != nil {
		wants.SetReviewClients(i.ReviewClients())
	}
}
