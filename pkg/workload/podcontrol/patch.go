package podcontrol

import (
	"encoding/json"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Patch returns the strategic merge patch from before to after. The patch applies only to the Pod with the same UID. If exact
// is set, it applies only to the same resource version. Neither argument is changed.
func Patch(before, after *corev1.Pod, exact bool) ([]byte, error) {
	one, other := *before, *after
	leaveOutEqual(&one.ObjectMeta, &other.ObjectMeta)
	leaveOutEqual(&one.Spec, &other.Spec)
	leaveOutEqual(&one.Status, &other.Status)
	// What only after has goes into the patch: so the UID, and for an exact patch the version, become preconditions.
	one.UID, other.UID = "", after.UID
	one.ResourceVersion, other.ResourceVersion = "", ""
	if exact {
		other.ResourceVersion = before.ResourceVersion
	}
	return patch("Pod "+before.Name, &one, &other, corev1.Pod{})
}

// leaveOutEqual clears the fields in which two structs are equal. To encode them for the comparison took most of its time: a Pod's status
// is often larger than what changes. What the fields refer to is not changed.
func leaveOutEqual[T any](before, after *T) {
	one, other := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	for i := range one.NumField() {
		if reflect.DeepEqual(one.Field(i).Interface(), other.Field(i).Interface()) {
			one.Field(i).SetZero()
			other.Field(i).SetZero()
		}
	}
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
