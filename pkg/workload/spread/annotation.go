package spread

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// Matched says on a Pod to which WorkloadSpread and subset it belongs. It is the JSON value of an annotation. UID is the key of
// the Pod's slot if the Pod had no name when the slot was reserved.
type Matched struct {
	Name   string `json:"name"`
	Subset string `json:"subset"`
	UID    string `json:"uid,omitempty"`
}

// MatchedOf returns what the annotation of a Pod says. It returns false without a readable annotation: such a Pod counts as one
// that admission did not see.
func MatchedOf(pod metav1.Object) (matched Matched, found bool) {
	text, found := pod.GetAnnotations()[pub.MatchedWorkloadSpreadKey]
	if !found || json.Unmarshal([]byte(text), &matched) != nil || matched.Name == "" {
		return Matched{}, false
	}
	return matched, true
}

// String returns the value of the annotation.
func (m Matched) String() string {
	text, _ := json.Marshal(m) // Strings can always be encoded.
	return string(text)
}

// Index returns the index of the subset with the name, or -1. A Pod can name a subset that was removed from the spec.
func Index(spread *v1beta1.WorkloadSpread, subset string) int {
	for i := range spread.Spec.Subsets {
		if spread.Spec.Subsets[i].Name == subset {
			return i
		}
	}
	return -1
}
