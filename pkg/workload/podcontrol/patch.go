package podcontrol

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Patch returns the strategic merge patch from before to after. The patch applies only to the Pod with the same UID. If exact
// is set, it applies only to the same resource version. Neither argument is changed.
func Patch(before, after *corev1.Pod, exact bool) ([]byte, error) {
	version := before.ResourceVersion
	before, after = before.DeepCopy(), after.DeepCopy()
	// What only after has goes into the patch: so the UID, and for an exact patch the version, become preconditions.
	before.UID, before.ResourceVersion, after.ResourceVersion = "", "", ""
	if exact {
		after.ResourceVersion = version
	}
	return patch("Pod "+before.Name, before, after, corev1.Pod{})
}

// ClaimPatch returns the strategic merge patch from before to after. The patch applies only to the claim with the same UID and
// resource version.
func ClaimPatch(before, after *corev1.PersistentVolumeClaim) ([]byte, error) {
	version := before.ResourceVersion
	before, after = before.DeepCopy(), after.DeepCopy()
	before.UID, before.ResourceVersion, after.ResourceVersion = "", "", version
	return patch("claim "+before.Name, before, after, corev1.PersistentVolumeClaim{})
}

// patch compares two objects of a type. schema is an empty value of the type.
func patch(what string, before, after, schema any) ([]byte, error) {
	beforeJSON, err := json.Marshal(before)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", what, err)
	}
	afterJSON, err := json.Marshal(after)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", what, err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(beforeJSON, afterJSON, schema)
	if err != nil {
		return nil, fmt.Errorf("compare %s: %w", what, err)
	}
	return patch, nil
}
