// Package helm embeds the parts of the chart that tests also read.
//
// It owns the access rules of our own service accounts: the chart renders the files under
// kruise/files/rbac as ClusterRoles (and *-namespaced.yaml as Roles in the release's namespace),
// and tests run with the same rights. It owns no template.
// Enter at Rules.
package helm
