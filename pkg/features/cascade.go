package features

import (
	"fmt"

	"k8s.io/component-base/featuregate"
)

// rule forces gates when another one has a value. It overrides a flag of the user, because the forced gates would do
// harm or nothing with that value.
type rule struct {
	// value is the value of gate that forces the others. forceTo is what they are forced to.
	gate    featuregate.Feature
	value   bool
	forced  []featuregate.Feature
	forceTo bool
}

// rules are applied in this order, and each sees what those before it forced.
var rules = []rule{
	// Without PodWebhook, no program sees new Pods, so nothing that changes or checks them can work.
	{PodWebhook, false, []featuregate.Feature{
		KruisePodReadinessGate, PodUnavailableBudgetDeleteGate, PodUnavailableBudgetUpdateGate, WorkloadSpread,
		SidecarSetPatchPodMetadataDefaults, EnhancedLivenessProbe, EnablePodProbeMarkerOnServerless,
	}, false},
	// Without KruiseDaemon, there is no node agent, so nothing that it does can be asked for.
	{KruiseDaemon, false, []featuregate.Feature{
		PreDownloadImageForInPlaceUpdate, DaemonWatchingPod, InPlaceUpdateEnvFromMetadata, PreDownloadImageForDaemonSetUpdate,
		PodProbeMarkerGate, SidecarTerminator, ImagePullJobGate, EnhancedLivenessProbe,
	}, false},
	// Images are downloaded by ImagePullJobs.
	{PreDownloadImageForInPlaceUpdate, true, []featuregate.Feature{ImagePullJobGate}, true},
	{PreDownloadImageForDaemonSetUpdate, true, []featuregate.Feature{ImagePullJobGate}, true},
	{ResourcesDeletionProtection, false, []featuregate.Feature{DeletionProtectionForCRDCascadingGate}, false},
}

// Forced is one gate that another one changed, for the log of the program.
type Forced struct {
	Gate  featuregate.Feature
	Value bool
	// By is the gate whose value ByValue caused it.
	By      featuregate.Feature
	ByValue bool
}

// Cascade applies the rules, once the flags are parsed, and returns what they changed for the caller to warn of. It
// must run before anything reads a gate. A gate that has the forced value already is not in the result.
func Cascade(gate featuregate.MutableFeatureGate) ([]Forced, error) {
	var changes []Forced
	for _, r := range rules {
		if gate.Enabled(r.gate) != r.value {
			continue
		}
		for _, name := range r.forced {
			if gate.Enabled(name) == r.forceTo {
				continue
			}
			if err := gate.SetFromMap(map[string]bool{string(name): r.forceTo}); err != nil {
				return nil, fmt.Errorf("force feature gate %s=%t: %w", name, r.forceTo, err)
			}
			changes = append(changes, Forced{Gate: name, Value: r.forceTo, By: r.gate, ByValue: r.value})
		}
	}
	return changes, nil
}
