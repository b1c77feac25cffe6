package kubectltest

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// resource is a resource that the server offers. cluster is true if its objects have no namespace, scale if it has
// that subresource.
type resource struct {
	group    string
	versions []string
	plural   string
	kind     string
	short    []string
	cluster  bool
	scale    bool
}

// offered are the resources: group, versions, plural, kind, short name, and properties.
const offered = `
- v1 pods Pod po
- v1 events Event ev
- v1 services Service svc
- v1 persistentvolumeclaims PersistentVolumeClaim pvc
- v1 namespaces Namespace ns cluster
apps v1 deployments Deployment deploy scale
apps v1 controllerrevisions ControllerRevision -
apps v1 statefulsets StatefulSet sts scale
batch v1 jobs Job -
autoscaling v2 horizontalpodautoscalers HorizontalPodAutoscaler hpa
apps.kruise.io v1beta1,v1alpha1 clonesets CloneSet clone scale
apps.kruise.io v1beta1,v1alpha1 statefulsets StatefulSet asts scale
apps.kruise.io v1beta1,v1alpha1 daemonsets DaemonSet ads
apps.kruise.io v1beta1,v1alpha1 uniteddeployments UnitedDeployment ud scale
apps.kruise.io v1beta1,v1alpha1 broadcastjobs BroadcastJob bcj
apps.kruise.io v1beta1,v1alpha1 advancedcronjobs AdvancedCronJob acj
apps.kruise.io v1beta1,v1alpha1 sidecarsets SidecarSet - cluster
apps.kruise.io v1beta1,v1alpha1 containerrecreaterequests ContainerRecreateRequest crr
apps.kruise.io v1beta1,v1alpha1 imagepulljobs ImagePullJob -
policy.kruise.io v1beta1,v1alpha1 podunavailablebudgets PodUnavailableBudget pub
rollouts.kruise.io v1beta1 rollouts Rollout -
`

// resources reads the table of resources. The sign - is the group without a name, or no short name.
func resources() (all []resource) {
	for line := range strings.Lines(strings.TrimSpace(offered)) {
		words := strings.Fields(line)
		all = append(all, resource{
			group: strings.Trim(words[0], "-"), versions: strings.Split(words[1], ","), plural: words[2], kind: words[3],
			short: strings.Fields(strings.Trim(words[4], "-")), cluster: slices.Contains(words, "cluster"), scale: slices.Contains(words, "scale"),
		})
	}
	return all
}

// groupVersion returns the form of apiVersion. The core group has no name.
func groupVersion(group, version string) string { return strings.TrimPrefix(group+"/"+version, "/") }

// groups returns the groups in the order of the resources.
func (s *Server) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	seen := map[string]bool{"": true}
	for _, r := range s.resources {
		if seen[r.group] {
			continue
		}
		seen[r.group] = true
		group := metav1.APIGroup{Name: r.group}
		for _, version := range r.versions {
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: groupVersion(r.group, version), Version: version})
		}
		group.PreferredVersion = group.Versions[0]
		list.Groups = append(list.Groups, group)
	}
	return list
}

// ofVersion returns the resources of a group and version.
func (s *Server) ofVersion(group, version string) metav1.APIResourceList {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion(group, version),
	}
	if group == v1beta1.SchemeGroupVersion.Group && version == v1beta1.SchemeGroupVersion.Version && !s.definitions {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: "nodeimages/pullsecrets", Kind: "SecretList", Verbs: metav1.Verbs{"get"},
		})
	}
	for _, r := range s.resources {
		for _, served := range r.versions {
			if r.group != group || served != version {
				continue
			}
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.plural, SingularName: strings.ToLower(r.kind), Namespaced: !r.cluster, Kind: r.kind, ShortNames: r.short,
				Verbs: metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"},
			})
			if r.scale {
				list.APIResources = append(list.APIResources, metav1.APIResource{
					Name: r.plural + "/scale", Namespaced: true, Group: "autoscaling", Version: "v1", Kind: "Scale",
					Verbs: metav1.Verbs{"get", "patch", "update"},
				})
			}
		}
	}
	return list
}
