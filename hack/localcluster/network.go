package localcluster

import "fmt"

// maxIndex bounds the clusters that one machine runs at once: each takes two /16 networks from 10.64.0.0 on, and four addresses of
// the network after the last of those for its link to the host, which must lie outside what Pods believe to be on their bridge.
const (
	maxIndex    = 30
	firstSecond = 64
)

// Network is the addresses of a cluster. All of them follow from its index, which no other running cluster has.
type Network struct {
	// Index is held by the name of the host's end of the veth pair, so taking it is atomic and losing it needs no clean-up.
	Index int `json:"index"`
}

// Link is the host's network device that leads to the cluster.
func (n Network) Link() string { return fmt.Sprintf("kruise%d", n.Index) }

// ClusterCIDR contains the nodes and Pods.
func (n Network) ClusterCIDR() string { return n.address(0, 0) + "/16" }

// ServiceCIDR contains the Services' addresses.
func (n Network) ServiceCIDR() string { return fmt.Sprintf("10.%d.0.0/16", n.second()+1) }

// APIServiceIP is the address of the Service kubernetes in the namespace default.
func (n Network) APIServiceIP() string { return fmt.Sprintf("10.%d.0.1", n.second()+1) }

// DNSServiceIP is the address that Pods ask for names; nothing answers unless a DNS server is installed there.
func (n Network) DNSServiceIP() string { return fmt.Sprintf("10.%d.0.10", n.second()+1) }

// ControlPlaneIP is where kube-apiserver, etcd and the registry listen, reachable from the host and from Pods.
func (n Network) ControlPlaneIP() string { return n.address(0, 1) }

// NodeIP is the address of a real node, counted from 1.
func (n Network) NodeIP(node int) string { return n.address(0, 10+node) }

// HostIP is where processes on the host are reachable from inside the cluster.
func (n Network) HostIP() string { return n.linkAddress(1) }

// APIServer is the URL of kube-apiserver.
func (n Network) APIServer() string {
	return fmt.Sprintf("https://%s:%d", n.ControlPlaneIP(), apiServerPort)
}

// EtcdEndpoint is the URL of the cluster's etcd, which wants a client certificate.
func (n Network) EtcdEndpoint() string {
	return fmt.Sprintf("https://%s:%d", n.ControlPlaneIP(), etcdPort)
}

// RegistryHost is the registry's host and port, for plain HTTP.
func (n Network) RegistryHost() string { return fmt.Sprintf("%s:%d", n.ControlPlaneIP(), registryPort) }

// gatewayIP is the cluster's end of the veth pair.
func (n Network) gatewayIP() string { return n.linkAddress(2) }

// podRange is the first and last address of a node's Pods.
func (n Network) podRange(node int) (first, last string) {
	return n.address(node, 2), n.address(node, 254)
}

// kwokCIDR is where simulated Pods pretend to be: above every real node's range.
func (n Network) kwokCIDR() string { return n.address(128, 0) + "/17" }

func (n Network) linkAddress(fourth int) string {
	return fmt.Sprintf("10.%d.%d.%d", firstSecond+2*(maxIndex+1), n.Index, fourth)
}

func (n Network) second() int { return firstSecond + 2*n.Index }

func (n Network) address(third, fourth int) string {
	return fmt.Sprintf("10.%d.%d.%d", n.second(), third, fourth)
}

// Ports are the same in every cluster: each has a network namespace.
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
