package v1alpha1

import (
	"encoding/json"
	"fmt"
)

// KeptFieldsAnnotation holds, on an object shown as v1alpha1, what only v1beta1 can say,
// so that a write through v1alpha1 does not lose it. Its value is JSON, a kept type of the
// kind. It is there only where something would be lost, and never stored.
const KeptFieldsAnnotation = "apps.kruise.io/v1beta1-fields"

// withKept returns annotations that hold kept too.
func withKept(annotations map[string]string, kept any) (map[string]string, error) {
	text, err := json.Marshal(kept)
	if err != nil {
		return annotations, fmt.Errorf("write annotation %s: %w", KeptFieldsAnnotation, err)
	}
	return with(annotations, KeptFieldsAnnotation, string(text)), nil
}

// takeKept reads what withKept wrote into kept, and returns the annotations without it. A text
// that is not ours is left as it is.
func takeKept(annotations map[string]string, kept any) (rest map[string]string, found bool) {
	text, found := annotations[KeptFieldsAnnotation]
	if !found || json.Unmarshal([]byte(text), kept) != nil {
		return annotations, false
	}
	return without(annotations, KeptFieldsAnnotation), true
}
