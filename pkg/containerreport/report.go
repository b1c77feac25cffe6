package containerreport

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/pub"
)

// Report is what a node runs of a Pod.
type Report struct {
	Containers []Container `json:"containers"`
}

// Container is one instance of a container, the newest that the runtime knows by its name.
type Container struct {
	Name string `json:"name"`
	// ContainerID is "<runtime>://<id>", as in the Pod's status.
	ContainerID  string `json:"containerID"`
	RestartCount int32  `json:"restartCount"`
	Hashes       Hashes `json:"hashes"`
	// Image is the reference in the spec that the instance was created from, empty where the runtime does not keep it.
	Image string `json:"image,omitempty"`
}

// Hashes tell what an instance was created from.
type Hashes struct {
	// PlainHash is the kubelet's hash of the container's spec. Only the equality of two hashes matters, not how the kubelet computes
	// them.
	PlainHash uint64 `json:"plainHash"`
	// ExtractedEnvFromMetadataHash is Hash of the variables that read metadata, with the values in the instance; zero while
	// they are not known.
	ExtractedEnvFromMetadataHash uint64 `json:"extractedEnvFromMetadataHash,omitempty"`
}

// maxSize limits the text of a report, which users can write too. A report has about 250 bytes for each container.
const maxSize = 32 << 10

// Read returns the Pod's report, or nil when no agent has reported.
func Read(pod metav1.Object) (*Report, error) {
	text, found := pod.GetAnnotations()[pub.RuntimeContainerMetaKey]
	if !found {
		return nil, nil
	}
	if len(text) > maxSize {
		return nil, fmt.Errorf("annotation %q of Pod %q has %d bytes, more than any report has (%d)", pub.RuntimeContainerMetaKey, pod.GetName(),
			len(text), maxSize)
	}
	report := &Report{}
	if err := json.Unmarshal([]byte(text), report); err != nil {
		return nil, fmt.Errorf("decode annotation %q of Pod %q: %w", pub.RuntimeContainerMetaKey, pod.GetName(), err)
	}
	return report, nil
}

// Find returns the entry of a container, or nil. A nil report has no entries.
func (r *Report) Find(name string) *Container {
	if r == nil {
		return nil
	}
	for i := range r.Containers {
		if r.Containers[i].Name == name {
			return &r.Containers[i]
		}
	}
	return nil
}
