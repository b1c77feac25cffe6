// Package localcluster runs a real Kubernetes on one Linux machine: etcd, the control plane, kube-proxy and any
// number of kubelets, each with its own containerd.
//
// It owns the processes, namespaces, certificates and state of a cluster, and builds the programs that the cluster
// runs (binaries). It also provides what a standalone cluster needs: a registry, a default StorageClass, resource
// metrics and KWOK nodes. It does not know Kruise: hack/local installs that.
//
// A cluster is one network namespace and one PID namespace, held by an init process. Ports, iptables chains and the
// Pod bridge are in the network namespace and disappear with it. All processes are in the PID namespace and end with
// it. So several clusters can use the same ports at the same time. A node adds a mount namespace and a PID namespace
// with its own /run, /var/log and /var/lib/{cni,containerd,kubelet}. So host paths on a node behave as on a separate
// machine. Killing the init process of a node is like a power failure: no shim, mount or container survives. A veth
// pair connects the cluster to the host, and routes on the host lead to the nodes, Pods and Services.
//
// Enter at New, then Cluster.Up, Cluster.Stop (keeps the state) and Cluster.Down (removes everything).
package localcluster
