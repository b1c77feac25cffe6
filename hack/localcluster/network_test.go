package localcluster

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNetworksAreDisjoint compares all networks of all indexes with each other.
func TestNetworksAreDisjoint(t *testing.T) {
	t.Parallel()
	owner := map[netip.Prefix]string{}
	for index := range maxIndex + 1 {
		n := Network{Index: index}
		for what, cidr := range map[string]string{"pods": n.ClusterCIDR(), "services": n.ServiceCIDR(), "link": n.HostIP() + "/30"} {
			prefix := netip.MustParsePrefix(cidr).Masked()
			for other, holder := range owner {
				assert.False(t, prefix.Overlaps(other), "%s of %d and %s", what, index, holder)
			}
			owner[prefix] = what + " of " + n.Link()
		}
		assert.LessOrEqual(t, len(n.Link()), 15, "the kernel's limit for a device's name")
	}
}

// TestAddressesWithinTheirNetworks checks all nodes that a configuration may have.
func TestAddressesWithinTheirNetworks(t *testing.T) {
	t.Parallel()
	n := Network{Index: 7}
	pods, services := netip.MustParsePrefix(n.ClusterCIDR()), netip.MustParsePrefix(n.ServiceCIDR())
	kwok := netip.MustParsePrefix(n.kwokCIDR())
	assert.True(t, pods.Contains(netip.MustParseAddr(n.ControlPlaneIP())))
	assert.True(t, services.Contains(netip.MustParseAddr(n.APIServiceIP())))
	assert.False(t, pods.Contains(netip.MustParseAddr(n.HostIP())), "a Pod would look for the host on its own bridge")
	seen := map[string]bool{n.ControlPlaneIP(): true}
	for i := 1; i <= maxNodes; i++ {
		first, last := n.podRange(i)
		for _, ip := range []string{n.NodeIP(i), first, last} {
			address, err := netip.ParseAddr(ip)
			require.NoError(t, err, "node %d", i)
			assert.True(t, pods.Contains(address), ip)
			assert.False(t, kwok.Contains(address), ip)
			assert.False(t, seen[ip], ip)
			seen[ip] = true
		}
	}
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		address string
		want    bool
	}{
		"in the Pods' network":     {"10.66.3.4/24", true},
		"in the Services' network": {"10.67.0.1/16", true},
		"another cluster's":        {"10.64.0.1/16", false},
		"another private network":  {"192.168.66.1/24", false},
		"version 6":                {"fd00::1/64", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ip, prefix, err := net.ParseCIDR(test.address)
			require.NoError(t, err)
			prefix.IP = ip
			assert.Equal(t, test.want, Network{Index: 1}.overlaps([]net.Addr{prefix}))
		})
	}
}
