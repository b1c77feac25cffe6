// Package clientca has the authorities of client certificates before the first connection.
//
// They are in a ConfigMap of the host cluster, and the generic server would begin to serve while it
// still reads it. A client that connects in that moment is not asked for a certificate, keeps its
// connection, and is anonymous on it for ever: kube-apiserver's proxy would be such a client.
// Enter at FromCluster and WaitFor.
package clientca
