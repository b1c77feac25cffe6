package v1beta1

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// Hashes are the values of the annotations SidecarSetHashKey and SidecarSetHashWithoutImageKey:
// hashes of the containers, with and without their images. Pods are compared by them, and Pods
// of older releases carry them, so neither the text that is hashed nor the way may change:
// containers as JSON, init containers only where one of them keeps running.
func (in *SidecarSetSpec) Hashes() (full, withoutImage string, err error) {
	containers := in.Containers
	if len(containers) == 0 {
		containers = nil // The store does not keep the difference between an empty list and none.
	}
	if full, err = hashContainers(containers, in.InitContainers); err != nil {
		return "", "", err
	}
	withoutImage, err = hashContainers(withoutImages(containers), withoutImages(in.InitContainers))
	return full, withoutImage, err
}

func withoutImages(containers []SidecarContainer) []SidecarContainer {
	result := slices.Clone(containers)
	for i := range result {
		result[i].Image = ""
	}
	return result
}

func hashContainers(containers, initContainers []SidecarContainer) (string, error) {
	hashed := map[string][]SidecarContainer{"containers": containers}
	if slices.ContainsFunc(initContainers, keepsRunning) {
		hashed["initContainers"] = initContainers
	}
	text, err := json.Marshal(hashed)
	if err != nil {
		return "", fmt.Errorf("hash containers: %w", err)
	}
	sum := sha256.Sum256(text)
	return rand.SafeEncodeString(hex.EncodeToString(sum[:])), nil
}

func keepsRunning(container SidecarContainer) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
