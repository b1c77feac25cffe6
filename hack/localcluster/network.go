package localcluster

import "fmt"

// maxIndex limits how many clusters run on one machine at once. Each cluster uses two /16 networks, starting at
// 10.64.0.0. Its link to the host uses four addresses in the network after the last of those. The link must be
// outside of the Pod network, because Pods expect that network on their bridge.
const (
	maxIndex    = 30
	firstSecond = 64
)

// Network holds the addresses of a cluster. They all follow from the index, which is unique among the running clusters.
type Network struct {
	// Index is claimed by the name of the host's end of the veth pair. So the claim is atomic, and it disappears with the device.
	Index int `json:"index"`
}

// Link returns the name of the host's network device that leads to the cluster.
func (n Network) Link() string { return fmt.Sprintf("kruise%d", n.Index) }

// ClusterCIDR returns the network of the nodes and Pods.
func (n Network) ClusterCIDR() string { return n.address(0, 0) + "/16" }

// ServiceCIDR returns the network of the Services.
func (n Network) ServiceCIDR() string { return fmt.Sprintf("10.%d.0.0/16", n.second()+1) }

// APIServiceIP returns the address of the Service kubernetes in the namespace default.
func (n Network) APIServiceIP() string { return fmt.Sprintf("10.%d.0.1", n.second()+1) }

// DNSServiceIP returns the DNS server address in Pods. No server answers there unless a DNS addon is installed.
func (n Network) DNSServiceIP() string { return fmt.Sprintf("10.%d.0.10", n.second()+1) }

// ControlPlaneIP returns the address of kube-apiserver, etcd and the registry. The host and the Pods can reach it.
func (n Network) ControlPlaneIP() string { return n.address(0, 1) }

// NodeIP returns the address of a real node. The first node is 1.
func (n Network) NodeIP(node int) string { return n.address(0, 10+node) }

// HostIP returns the address under which the cluster reaches processes on the host.
func (n Network) HostIP() string { return n.linkAddress(1) }

// APIServer returns the URL of kube-apiserver.
func (n Network) APIServer() string {
	return fmt.Sprintf("https://%s:%d", n.ControlPlaneIP(), apiServerPort)
}

// EtcdEndpoint returns the URL of the cluster's etcd, which requires a client certificate.
func (n Network) EtcdEndpoint() string {
	return fmt.Sprintf("https://%s:%d", n.ControlPlaneIP(), etcdPort)
}

// RegistryHost returns the host and port of the registry, for plain HTTP.
func (n Network) RegistryHost() string { return fmt.Sprintf("%s:%d", n.ControlPlaneIP(), registryPort) }

// gatewayIP returns the address of the cluster's end of the veth pair.
func (n Network) gatewayIP() string { return n.linkAddress(2) }

// podRange returns the first and last address of a node's Pods.
func (n Network) podRange(node int) (first, last string) {
	return n.address(node, 2), n.address(node, 254)
}

// kwokCIDR returns the address range of simulated Pods. It is above the ranges of all real nodes.
func (n Network) kwokCIDR() string { return n.address(128, 0) + "/17" }

// linkAddress returns an address of the link between the host and the cluster.
func (n Network) linkAddress(fourth int) string {
	return fmt.Sprintf("10.%d.%d.%d", firstSecond+2*(maxIndex+1), n.Index, fourth)
}

// second returns the second number of the addresses of nodes and Pods.
func (n Network) second() int { return firstSecond + 2*n.Index }

// address returns an address in the network of nodes and Pods.
func (n Network) address(third, fourth int) string {
	return fmt.Sprintf("10.%d.%d.%d", n.second(), third, fourth)
}

// Ports are the same in every cluster, because each cluster has its own network namespace.
const (
	apiServerPort         = 6443
	etcdPort              = 2379
	etcdPeerPort          = 2380
	controllerManagerPort = 10257
	schedulerPort         = 10259
	proxyHealthPort       = 10256
	registryPort          = 5000
	metricsServerPort     = 4443
	kwokPort              = 10247
	kubeletHealthPort     = 10248
)
