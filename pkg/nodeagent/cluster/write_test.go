package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/nodeagent/cluster"
)

func nodeImage(uid types.UID, version string) *v1beta1.NodeImage {
	return &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: uid, ResourceVersion: version}}
}

func TestCacheThatDoesNotShowAnOwnWriteIsNotBelieved(t *testing.T) {
	at := time.Unix(0, 0)
	tests := map[string]struct {
		cached *v1beta1.NodeImage
		after  time.Duration
		want   time.Duration
	}{
		"the cache is older":                    {nodeImage("a", "10"), 10 * time.Second, 20 * time.Second},
		"the cache shows it":                    {nodeImage("a", "20"), 0, 0},
		"the cache is newer":                    {nodeImage("a", "21"), 0, 0},
		"another object":                        {nodeImage("b", "10"), 0, 0},
		"the server has no versions":            {nodeImage("a", ""), 0, 0},
		"the server has lost it, after a while": {nodeImage("a", "10"), 30 * time.Second, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(at)
			writes := cluster.NewWrites(clock)
			assert.Zero(t, writes.Unseen(tc.cached), "nothing was written")
			writes.Wrote(nodeImage("a", "20"))
			clock.SetTime(at.Add(tc.after))
			assert.Equal(t, tc.want, writes.Unseen(tc.cached))
			writes.Forget("a")
			assert.Zero(t, writes.Unseen(tc.cached), "forgotten")
		})
	}
	clock := testingclock.NewFakePassiveClock(at)
	writes := cluster.NewWrites(clock)
	writes.Wrote(nodeImage("a", "20"))
	assert.Zero(t, writes.Unseen(nodeImage("a", "20")))
	assert.Zero(t, writes.Unseen(nodeImage("a", "10")), "an older list does not bring back a write that was seen")
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
