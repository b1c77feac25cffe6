package initializer

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"

	"kruise.io/kruise/pkg/features"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
	"kruise.io/kruise/pkg/protectionlog"
)

// plugin requests every dependency.
type plugin struct {
	HostClient
	KruiseClient
	Features
	OwnNamespace
	MetadataClient
	ProtectionLog
}

func (p *plugin) initialized() error {
	return Initialized("Demo", &p.HostClient, &p.KruiseClient, &p.Features, &p.OwnNamespace, &p.MetadataClient, &p.ProtectionLog)
}

func TestPluginReportsMissingDependencies(t *testing.T) {
	gate, err := features.New("")
	require.NoError(t, err)
	p := &plugin{}
	require.EqualError(t, p.initialized(), "admission plugin Demo is missing a client for the host cluster, a client for the Kruise API, "+
		"the feature gates, the system namespace, a metadata client for the host cluster, the protection log")
	p.SetMetadataClient(&metadatafake.FakeMetadataClient{})
	p.SetProtectionLog(protectionlog.New(io.Discard))
	p.SetKruiseClientSet(kruisefake.NewClientset())
	p.SetKruiseFeatures(gate)
	require.EqualError(t, p.initialized(), "admission plugin Demo is missing a client for the host cluster, the system namespace")
	p.SetExternalKubeClientSet(fake.NewClientset())
	require.EqualError(t, p.initialized(), "admission plugin Demo is missing the system namespace")
	p.SetOwnNamespace("kruise-system")
	assert.NoError(t, p.initialized())
}
