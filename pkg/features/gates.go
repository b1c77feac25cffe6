package features

import "k8s.io/component-base/featuregate"

// The gates. Their names are those of the flag --feature-gates, and old Helm values hold them: they never change.
const (
	PodWebhook                             featuregate.Feature = "PodWebhook"
	KruiseDaemon                           featuregate.Feature = "KruiseDaemon"
	DaemonWatchingPod                      featuregate.Feature = "DaemonWatchingPod"
	CloneSetShortHash                      featuregate.Feature = "CloneSetShortHash"
	KruisePodReadinessGate                 featuregate.Feature = "KruisePodReadinessGate"
	PreDownloadImageForInPlaceUpdate       featuregate.Feature = "PreDownloadImageForInPlaceUpdate"
	CloneSetPartitionRollback              featuregate.Feature = "CloneSetPartitionRollback"
	ResourcesDeletionProtection            featuregate.Feature = "ResourcesDeletionProtection"
	WorkloadSpread                         featuregate.Feature = "WorkloadSpread"
	PodUnavailableBudgetDeleteGate         featuregate.Feature = "PodUnavailableBudgetDeleteGate"
	PodUnavailableBudgetUpdateGate         featuregate.Feature = "PodUnavailableBudgetUpdateGate"
	TemplateNoDefaults                     featuregate.Feature = "TemplateNoDefaults"
	InPlaceUpdateEnvFromMetadata           featuregate.Feature = "InPlaceUpdateEnvFromMetadata"
	StatefulSetAutoDeletePVC               featuregate.Feature = "StatefulSetAutoDeletePVC"
	SidecarSetPatchPodMetadataDefaults     featuregate.Feature = "SidecarSetPatchPodMetadataDefaultsAllowed"
	PodProbeMarkerGate                     featuregate.Feature = "PodProbeMarkerGate"
	PreDownloadImageForDaemonSetUpdate     featuregate.Feature = "PreDownloadImageForDaemonSetUpdate"
	SidecarTerminator                      featuregate.Feature = "SidecarTerminator"
	CloneSetEventHandlerOptimization       featuregate.Feature = "CloneSetEventHandlerOptimization"
	PreparingUpdateAsUpdate                featuregate.Feature = "PreparingUpdateAsUpdate"
	ImagePullJobGate                       featuregate.Feature = "ImagePullJobGate"
	ResourceDistributionGate               featuregate.Feature = "ResourceDistributionGate"
	DeletionProtectionForCRDCascadingGate  featuregate.Feature = "DeletionProtectionForCRDCascadingGate"
	EnhancedLivenessProbe                  featuregate.Feature = "EnhancedLivenessProbe"
	RecreatePodWhenChangeVCTInCloneSetGate featuregate.Feature = "RecreatePodWhenChangeVCTInCloneSetGate"
	StatefulSetStartOrdinal                featuregate.Feature = "StatefulSetStartOrdinal"
	PodIndexLabel                          featuregate.Feature = "PodIndexLabel"
	EnableExternalCerts                    featuregate.Feature = "EnableExternalCerts"
	StatefulSetAutoResizePVCGate           featuregate.Feature = "StatefulSetAutoResizePVCGate"
	ForceDeleteTimeoutExpectationGate      featuregate.Feature = "ForceDeleteTimeoutExpectationGate"
	InPlaceWorkloadVerticalScaling         featuregate.Feature = "InPlaceWorkloadVerticalScaling"
	EnablePodProbeMarkerOnServerless       featuregate.Feature = "EnablePodProbeMarkerOnServerless"
	EnableSortSidecarContainerByName       featuregate.Feature = "EnableSortSidecarContainerByName"
	InPlacePodVerticalScaling              featuregate.Feature = "InPlacePodVerticalScaling"
	DefaultHostNetworkHostPortsInTemplates featuregate.Feature = "DefaultHostNetworkHostPortsInPodTemplates"
	DaemonSetPruneIneligibleNodes          featuregate.Feature = "DaemonSetPruneIneligibleNodes"
)

// gate describes a feature gate.
type gate struct {
	// name, on and stage are what featuregate needs. on is the default.
	name  featuregate.Feature
	on    bool
	stage string
	// effect is false for gates that no program reads. They are known so that flags and Helm values with them are accepted.
	effect bool
}

// The stages of gates. The value is the one of featuregate as text, so that a line of the table stays short.
const (
	alpha = string(featuregate.Alpha)
	beta  = string(featuregate.Beta)
)

// gates is every gate with its default.
//
// Defaults are those of release 1.4, so that a cluster which moves here finds what it had. Three gates of later releases
// guard what 1.4 always did: ImagePullJobGate, ResourceDistributionGate and DeletionProtectionForCRDCascadingGate are on for
// that reason. ResourcesDeletionProtection stays on, although later releases turned it off because its webhook was called for
// every namespace: here, only protected objects are reviewed. PodIndexLabel is on because the label is additive, and core
// StatefulSets carry it. ForceDeleteTimeoutExpectationGate is on because nothing here waits for an event that may be lost:
// what a stale cache holds back goes on after --expectation-timeout.
var gates = []gate{
	{PodWebhook, true, beta, true},
	{KruiseDaemon, true, beta, true},
	{DaemonWatchingPod, true, beta, true},
	{CloneSetShortHash, false, alpha, true},
	{KruisePodReadinessGate, false, alpha, true},
	{PreDownloadImageForInPlaceUpdate, false, alpha, true},
	{CloneSetPartitionRollback, false, alpha, true},
	{ResourcesDeletionProtection, true, alpha, true},
	{WorkloadSpread, true, alpha, true},
	{PodUnavailableBudgetDeleteGate, true, alpha, true},
	{PodUnavailableBudgetUpdateGate, false, alpha, true},
	{TemplateNoDefaults, false, alpha, true},
	{InPlaceUpdateEnvFromMetadata, true, alpha, true},
	{StatefulSetAutoDeletePVC, true, alpha, true},
	{SidecarSetPatchPodMetadataDefaults, false, alpha, true},
	{PodProbeMarkerGate, true, alpha, true},
	{PreDownloadImageForDaemonSetUpdate, false, alpha, true},
	{SidecarTerminator, false, alpha, true},
	{CloneSetEventHandlerOptimization, false, alpha, true},
	{PreparingUpdateAsUpdate, false, alpha, true},
	{ImagePullJobGate, true, alpha, true},
	{ResourceDistributionGate, true, alpha, true},
	{DeletionProtectionForCRDCascadingGate, true, alpha, true},
	{EnhancedLivenessProbe, false, alpha, false},
	{RecreatePodWhenChangeVCTInCloneSetGate, false, alpha, true},
	{StatefulSetStartOrdinal, false, alpha, true},
	{PodIndexLabel, true, beta, true},
	{EnableExternalCerts, false, alpha, false},
	{StatefulSetAutoResizePVCGate, false, alpha, true},
	{ForceDeleteTimeoutExpectationGate, true, alpha, false},
	{InPlaceWorkloadVerticalScaling, false, alpha, true},
	{EnablePodProbeMarkerOnServerless, false, alpha, true},
	{EnableSortSidecarContainerByName, false, alpha, true},
	{InPlacePodVerticalScaling, false, alpha, true},
	{DefaultHostNetworkHostPortsInTemplates, false, alpha, true},
	{DaemonSetPruneIneligibleNodes, false, alpha, true},
}
