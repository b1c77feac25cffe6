// Package services finds the addresses of Services for the admission webhooks of users, as kube-apiserver does: by the cluster IP, or by an
// endpoint. The DNS of the cluster plays no part, so an outage of it, or a workload that runs it, cannot block writes of Kruise kinds. Only
// a Service of type ExternalName needs DNS.
//
// The informers start at the first webhook that names a Service. A cluster without such webhooks pays nothing for them, and the start of
// the server does not wait for them. Enter at New.
package services
