package podcontrol

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Patch returns the strategic merge patch from before to after. The patch applies only to the Pod with the same UID. If exact is
// set, it applies only to the same resource version.
func Patch(before, after *corev1.Pod, exact bool) ([]byte, error) {
	version := before.ResourceVersion
	before, after = before.DeepCopy(), after.DeepCopy()
	before.UID, before.ResourceVersion, after.ResourceVersion = "", "", ""
	if exact {
		after.ResourceVersion = version
	}
	beforeJSON, err := json.Marshal(before)
	if err != nil {
		return nil, fmt.Errorf("encode Pod %s: %w", before.Name, err)
	}
	afterJSON, err := json.Marshal(after)
	if err != nil {
		return nil, fmt.Errorf("encode Pod %s: %w", before.Name, err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(beforeJSON, afterJSON, corev1.Pod{})
	if err != nil {
		return nil, fmt.Errorf("compare Pod %s: %w", before.Name, err)
	}
	return patch, nil
}
