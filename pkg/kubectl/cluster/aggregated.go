package cluster

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// onlyOurs is a resource that kruise-apiserver serves and no CustomResourceDefinition of OpenKruise does.
const onlyOurs = "nodeimages/pullsecrets"

// Aggregated reports whether the kinds of Kruise are served by kruise-apiserver, and not by CustomResourceDefinitions of OpenKruise. If
// the server does not say what it serves, the answer is false.
func Aggregated(factory cmdutil.Factory) bool {
	client, err := factory.ToDiscoveryClient()
	if err != nil {
		return false
	}
	served, err := client.ServerResourcesForGroupVersion(v1beta1.SchemeGroupVersion.String())
	return err == nil && slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == onlyOurs })
}
