package podcontrol

import "strings"

// PodName returns the name of the Pod of an instance. prefix is the first part of the names of all Pods of the workload.
func PodName(prefix, id string) string { return prefix + "-" + id }

// InstanceOfPod returns the ID of the instance that a Pod belongs to, or "" if the workload did not name the Pod. The name is what ties
// a Pod to its instance: it cannot be changed, and no other Pod can have it. A label can be changed by everybody who may edit the Pod.
func InstanceOfPod(prefix, pod string) string {
	id, found := strings.CutPrefix(pod, prefix+"-")
	if !found || strings.Contains(id, "-") {
		return ""
	}
	return id
}

// ClaimName returns the name of a claim, in the form of a StatefulSet's: template, workload, instance.
func ClaimName(template, prefix, id string) string { return template + "-" + PodName(prefix, id) }

// InstanceOfClaim returns the ID of the instance that a claim belongs to, or "" if its name is not one of ClaimName.
func InstanceOfClaim(prefix, claim string) string {
	end := strings.LastIndexByte(claim, '-')
	if end < 0 || !strings.HasSuffix(claim[:end], "-"+prefix) {
		return ""
	}
	return claim[end+1:]
}
