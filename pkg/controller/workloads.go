package controller

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kruise.io/kruise/pkg/workload/kinds"
)

// workloadInformers holds the informers of the kinds that the table of package kinds marks as watched. A watched kind without an
// entry here panics in Workloads, at the start of the program and in the test.
var workloadInformers = map[schema.GroupKind]func(Deps) Informer{
	kinds.Deployment:          func(d Deps) Informer { return d.KubeInformers.Apps().V1().Deployments() },
	kinds.ReplicaSet:          func(d Deps) Informer { return d.KubeInformers.Apps().V1().ReplicaSets() },
	kinds.StatefulSet:         func(d Deps) Informer { return d.KubeInformers.Apps().V1().StatefulSets() },
	kinds.CloneSet:            func(d Deps) Informer { return d.KruiseInformers.Apps().V1beta1().CloneSets() },
	kinds.AdvancedStatefulSet: func(d Deps) Informer { return d.KruiseInformers.Apps().V1beta1().StatefulSets() },
	kinds.AdvancedDaemonSet:   func(d Deps) Informer { return d.KruiseInformers.Apps().V1beta1().DaemonSets() },
	kinds.BroadcastJob:        func(d Deps) Informer { return d.KruiseInformers.Apps().V1beta1().BroadcastJobs() },
}

// Workloads returns the informers of the watched workload kinds for which holds returns true. Calling it adds the informers to the
// needs of the controller, so the controller starts only when all these kinds are served.
func Workloads(deps Deps, holds func(*kinds.Kind) bool) map[schema.GroupKind]Informer {
	found := map[schema.GroupKind]Informer{}
	for _, kind := range kinds.All() {
		if kind.Watched && holds(kind) {
			found[kind.GroupKind] = workloadInformers[kind.GroupKind](deps)
		}
	}
	return found
}
