package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/nodeagent/cluster"
)

func nodeImage(uid types.UID, version string) *v1beta1.NodeImage {
	return &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: uid, ResourceVersion: version}}
}

func TestOwnWriteIsBelievedUntilTheCacheShowsIt(t *testing.T) {
	at := time.Unix(0, 0)
	wrote := cluster.Wrote(nodeImage("a", "20"), at)
	tests := map[string]struct {
		wrote   cluster.Written[*v1beta1.NodeImage]
		cached  *v1beta1.NodeImage
		now     time.Time
		want    string
		believe time.Duration
	}{
		"nothing was written":                   {cluster.Written[*v1beta1.NodeImage]{}, nodeImage("a", "10"), at, "10", 0},
		"the cache is older":                    {wrote, nodeImage("a", "10"), at.Add(10 * time.Second), "20", 20 * time.Second},
		"the cache shows it":                    {wrote, nodeImage("a", "20"), at, "20", 0},
		"the cache is newer":                    {wrote, nodeImage("a", "21"), at, "21", 0},
		"another object":                        {wrote, nodeImage("b", "10"), at, "10", 0},
		"the server has no versions":            {wrote, nodeImage("a", ""), at, "", 0},
		"the server has lost it, after a while": {wrote, nodeImage("a", "10"), at.Add(30 * time.Second), "10", 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, believe := tc.wrote.Newer(tc.cached, tc.now)
			assert.Equal(t, tc.want, got.ResourceVersion)
			assert.Equal(t, tc.believe, believe)
		})
	}
}
