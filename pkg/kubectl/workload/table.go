package workload

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/workload/kinds"
	"kruise.io/kruise/pkg/workload/rollout"
)

// Path is where a field is: the names of the fields above it, separated by dots. It is empty if the kind does not
// have the field in the version.
type Path struct{ beta, alpha string }

// both returns a path that is the same in all versions.
func both(path string) Path { return Path{beta: path, alpha: path} }

// In returns the path in a version.
func (p Path) In(version string) string {
	if version == v1alpha1.SchemeGroupVersion.Version {
		return p.alpha
	}
	return p.beta
}

// Kind says where a kind keeps its fields.
type Kind struct {
	schema.GroupKind
	// Resource is the plural name, and Short the name that users type.
	Resource, Short string
	// Title is the name of the kind in messages.
	Title string
	// Exposable is true if a Service can be made for the Pods of an object.
	Exposable bool

	// Template is the Pod template.
	Template Path
	// Containers is the field above the lists containers and initContainers of a kind that has containers without a Pod template.
	Containers Path
	// Selector selects the Pods.
	Selector Path
	// Replicas is the wanted number of Pods.
	Replicas Path
	// Partition is the number or percentage of Pods that stay at the old revision. Kept resolves it for a number of Pods. It is the
	// function of the controller, so both count the same Pods.
	Partition Path
	Kept      func(partition *intstr.IntOrString, pods int) (int, error)
	// Paused stops updates.
	Paused Path
	// Strategy is the type of the update strategy, and PodPolicy says whether Pods are updated in place.
	Strategy, PodPolicy Path

	// Lifecycle has the hooks of the Pods. MinReadySeconds is how long a Pod is ready before it is available.
	Lifecycle, MinReadySeconds Path

	// Updated is how many Pods are updated. UpdatedAvailable is how many of them are available.
	Updated, UpdatedAvailable Path
	// Total, Ready and Available count all Pods.
	Total, Ready, Available Path
	// Revision is the name of the newest revision.
	Revision Path

	// Texts are about rollouts.
	Texts Texts
}

// Texts are what scripts of users search for in the output. They differ between the kinds for that reason.
type Texts struct {
	// Waiting is about a partitioned rollout under way. It has verbs for the numbers of updated and of wanted Pods.
	Waiting string
	// PartitionDone is about a partitioned rollout that is done. It has a verb for the number of updated Pods. If it is empty, the text
	// is that of every rollout.
	PartitionDone string
	// InPlace is true if Waiting and PartitionDone apply only to rollouts that update Pods in place, with or without a partition.
	InPlace bool
	// NoRevision says that there is no older revision.
	NoRevision string
}

const partitionDone = "partitioned roll out complete: %d new pods have been updated..."

const partition = "spec.updateStrategy.rollingUpdate.partition"

// table has a row for each kind. Kinds without a Revision do not roll out; they are here for single commands, such as
// set image.
var table = []*Kind{
	{
		GroupKind: kinds.CloneSet, Resource: "clonesets", Short: "cloneset", Title: "CloneSet", Exposable: true,
		Template: both("spec.template"), Selector: both("spec.selector"), Replicas: both("spec.replicas"),
		Partition: Path{beta: partition, alpha: "spec.updateStrategy.partition"}, Kept: rollout.Partition,
		Paused:    Path{beta: "spec.updateStrategy.rollingUpdate.paused", alpha: "spec.updateStrategy.paused"},
		Strategy:  both("spec.updateStrategy.type"),
		PodPolicy: Path{beta: "spec.updateStrategy.rollingUpdate.podUpdatePolicy", alpha: "spec.updateStrategy.type"},
		Lifecycle: both("spec.lifecycle"), MinReadySeconds: both("spec.minReadySeconds"),
		Updated: both("status.updatedReplicas"), UpdatedAvailable: both("status.updatedAvailableReplicas"),
		Total: both("status.replicas"), Ready: both("status.readyReplicas"), Available: both("status.availableReplicas"),
		Revision: both("status.updateRevision"),
		Texts: Texts{
			Waiting:       "Waiting for partitioned roll out to finish: %d out of %d new pods have been updated...",
			PartitionDone: partitionDone, InPlace: true, NoRevision: "no last revision to roll back to",
		},
	},
	{
		GroupKind: kinds.AdvancedStatefulSet, Resource: "statefulsets", Short: "asts", Title: "Advanced StatefulSet",
		Template: both("spec.template"), Selector: both("spec.selector"), Replicas: both("spec.replicas"),
		Partition: both(partition), Kept: rollout.Partition, Paused: both("spec.updateStrategy.rollingUpdate.paused"),
		Strategy: both("spec.updateStrategy.type"), PodPolicy: both("spec.updateStrategy.rollingUpdate.podUpdatePolicy"),
		Lifecycle: Path{beta: "spec.lifecycle"}, MinReadySeconds: both("spec.updateStrategy.rollingUpdate.minReadySeconds"),
		Updated: both("status.updatedReplicas"), UpdatedAvailable: Path{beta: "status.updatedAvailableReplicas"},
		Total: both("status.replicas"), Ready: both("status.readyReplicas"), Available: both("status.availableReplicas"),
		Revision: both("status.updateRevision"),
		Texts: Texts{
			Waiting:    "Waiting for partitioned roll out to finish:%d out of %d new pods has been updated...",
			NoRevision: "no latest revision to roll back to",
		},
	},
	{
		// The number of Pods of a DaemonSet follows from its nodes, so it is in the status.
		GroupKind: kinds.AdvancedDaemonSet, Resource: "daemonsets", Short: "ads", Title: "Advanced DaemonSet",
		Template: both("spec.template"), Selector: both("spec.selector"), Replicas: both("status.desiredNumberScheduled"),
		Partition: both(partition), Kept: rollout.DaemonSetPartition, Paused: both("spec.updateStrategy.rollingUpdate.paused"),
		Strategy: both("spec.updateStrategy.type"), PodPolicy: both("spec.updateStrategy.rollingUpdate.rollingUpdateType"),
		Lifecycle: both("spec.lifecycle"), MinReadySeconds: both("spec.minReadySeconds"),
		Updated: both("status.updatedNumberScheduled"), Total: both("status.currentNumberScheduled"),
		Ready: both("status.numberReady"), Available: both("status.numberAvailable"),
		Revision: Path{beta: "status.updateRevision", alpha: "status.daemonSetHash"},
		Texts: Texts{
			Waiting:       "Waiting for partitioned roll out to finish:%d out of %d new pods has been updated...",
			PartitionDone: partitionDone, NoRevision: "no last revision to roll back to",
		},
	},
	{
		GroupKind: kinds.BroadcastJob, Resource: "broadcastjobs", Short: "broadcastjob", Title: "BroadcastJob",
		Template: both("spec.template"),
	},
	{
		GroupKind: schema.GroupKind{Group: v1alpha1.SchemeGroupVersion.Group, Kind: "SidecarSet"}, Resource: "sidecarsets",
		Short: "sidecarset", Title: "SidecarSet", Containers: both("spec"),
	},
}

// All returns the table. Callers must not change it.
func All() []*Kind { return table }

// KindOf returns the row of a kind, or nil.
func KindOf(kind schema.GroupKind) *Kind {
	for _, row := range table {
		if row.GroupKind == kind {
			return row
		}
	}
	return nil
}

// RollsOut reports whether the kind has revisions and rolls its Pods out to the newest one.
func (k *Kind) RollsOut() bool { return k.Revision != Path{} }

// Pausable reports whether an object can be paused with a command. Upstream programs pause only kinds whose selector can be exposed.
func (k *Kind) Pausable() bool { return k.Paused != Path{} }

// ArgNames returns the names of the kinds for which holds returns true, as users type them: with their group, because
// Kubernetes has kinds of the same names.
func ArgNames(holds func(*Kind) bool) (names []string) {
	for _, row := range table {
		if holds(row) {
			names = append(names, row.Resource+"."+row.Group)
		}
	}
	return names
}
