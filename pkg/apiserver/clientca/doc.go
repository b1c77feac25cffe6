// Package clientca loads the client CA of the cluster before the server accepts the first connection.
//
// The client CA is in a ConfigMap of the host cluster. The generic server would start to serve before it has read the
// ConfigMap. A client that connects at that moment is not asked for a certificate, and stays anonymous as long as it
// keeps the connection. The proxy of kube-apiserver could be such a client. Enter at FromCluster and WaitFor.
package clientca
