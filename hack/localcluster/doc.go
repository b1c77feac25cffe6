// Package localcluster runs a real Kubernetes on one Linux machine: etcd, the control plane, kube-proxy and any number of kubelets,
// each on a containerd of its own.
//
// It owns the processes, namespaces, certificates and state of a cluster, the building of the programs it runs (binaries) and what
// a cluster needs to be useful alone: a registry, a default StorageClass, resource metrics, KWOK nodes. It does not know Kruise:
// hack/local installs that.
//
// A cluster is one network namespace and one PID namespace, held by an init process. Everything the control plane opens (ports,
// iptables chains, the Pods' bridge) lives in the first and ends with it; everything it runs ends with the second. Several clusters
// therefore use the same ports beside each other. A node adds a mount and a PID namespace with its own /run, /var/log and
// /var/lib/{cni,containerd,kubelet}, so that host paths mean on each node what they mean on a machine of its own, and killing the
// node's init is pulling its plug: no shim, mount or container survives. A veth pair joins the cluster to the host, whose routes
// lead to its nodes, Pods and Services.
//
// Enter at New, then Cluster.Up, Cluster.Stop (keeps the state) and Cluster.Down (leaves nothing).
package localcluster
