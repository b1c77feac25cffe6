package initializer

import (
	"fmt"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/protectionlog"
)

// Given is a dependency that a plugin requests by embedding its type: HostClient, KruiseClient, KruiseOwners, MetadataClient,
// Features, OwnNamespace or ProtectionLog. It is set once the plugin is initialized.
type Given interface {
	// missing describes what was not set, as a noun phrase for the error of Initialized. It is empty if everything
	// was set.
	missing() string
}

// These assertions make sure that a Given and the interface by which Initializer recognizes it do not diverge. A
// diverged one compiles, but is never set.
var (
	_ WantsKruiseClientSet = &KruiseClient{}
	_ WantsKruiseOwners    = &KruiseOwners{}
	_ WantsKruiseFeatures  = &Features{}
	_ WantsOwnNamespace    = &OwnNamespace{}
	_ WantsMetadataClient  = &MetadataClient{}
	_ WantsProtectionLog   = &ProtectionLog{}
)

// Initialized returns an error that names all missing dependencies of a plugin. A plugin must have a
// ValidateInitialization method that returns it, so that the server fails at startup and not in the first request.
// The generic server passes its client only to plugins with this method.
func Initialized(plugin string, all ...Given) error {
	var missing []string
	for _, given := range all {
		if what := given.missing(); what != "" {
			missing = append(missing, what)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("admission plugin %s is missing %s", plugin, strings.Join(missing, ", "))
}

// HostClient is embedded by a plugin that reads the host cluster. Its method is that of the generic server's
// WantsExternalKubeClientSet, so the generic server sets it and not Initializer.
type HostClient struct{ Host kubernetes.Interface }

// SetExternalKubeClientSet sets the client of the host cluster.
func (h *HostClient) SetExternalKubeClientSet(client kubernetes.Interface) { h.Host = client }

func (h *HostClient) missing() string { return unless(h.Host != nil, "a client for the host cluster") }

// KruiseClient is embedded by a plugin that reads Kruise kinds. Its reads are live, because the client has no cache.
type KruiseClient struct{ Kruise versioned.Interface }

// SetKruiseClientSet sets the client of this API server.
func (k *KruiseClient) SetKruiseClientSet(client versioned.Interface) { k.Kruise = client }

func (k *KruiseClient) missing() string {
	return unless(k.Kruise != nil, "a client for the Kruise API")
}

// KruiseOwners is embedded by a plugin that reads Kruise objects of any kind by owner references.
type KruiseOwners struct{ Owners OwnerReader }

// SetKruiseOwners sets the reader.
func (k *KruiseOwners) SetKruiseOwners(owners OwnerReader) { k.Owners = owners }

func (k *KruiseOwners) missing() string {
	return unless(k.Owners != nil, "a reader for Kruise objects of any kind")
}

// Features is embedded by a plugin that depends on a feature gate.
type Features struct{ Gate featuregate.FeatureGate }

// SetKruiseFeatures sets the feature gates.
func (f *Features) SetKruiseFeatures(gate featuregate.FeatureGate) { f.Gate = gate }

func (f *Features) missing() string { return unless(f.Gate != nil, "the feature gates") }

// OwnNamespace is embedded by a plugin that reads objects in the namespace of the Kruise programs.
type OwnNamespace struct{ Namespace string }

// SetOwnNamespace sets that namespace.
func (o *OwnNamespace) SetOwnNamespace(namespace string) { o.Namespace = namespace }

func (o *OwnNamespace) missing() string {
	return unless(o.Namespace != "", "the system namespace")
}

// MetadataClient is embedded by a plugin that reads objects of any kind in the host cluster.
type MetadataClient struct{ Metadata metadata.Interface }

// SetMetadataClient sets the metadata client for the host cluster.
func (m *MetadataClient) SetMetadataClient(client metadata.Interface) { m.Metadata = client }

func (m *MetadataClient) missing() string {
	return unless(m.Metadata != nil, "a metadata client for the host cluster")
}

// ProtectionLog is embedded by a plugin that logs its refusals.
type ProtectionLog struct{ Log *protectionlog.Log }

// SetProtectionLog sets the log.
func (p *ProtectionLog) SetProtectionLog(log *protectionlog.Log) { p.Log = log }

func (p *ProtectionLog) missing() string { return unless(p.Log != nil, "the protection log") }

// unless returns what as long as the dependency is not set.
func unless(there bool, what string) string {
	if there {
		return ""
	}
	return what
}
