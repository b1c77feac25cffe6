package podcontrol

import (
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
)

const (
	// placeLength is the length of the IDs of instances that belong to nodes.
	placeLength = 10
	// maxPodName is the maximum length of the names of such Pods, which are also their host names.
	maxPodName = 63
)

// NextPlaceID returns the ID that follows another one in the sequence of IDs for a node. The sequence begins after "". It depends on
// nothing else, so a creation that is repeated has the same name, and the API server refuses a second Pod of the owner on the node.
func NextPlaceID(owner types.UID, node, last string) string {
	for attempt := uint64(0); ; attempt++ {
		h := fnv.New64a()
		_, _ = h.Write([]byte(string(owner) + "/" + node + "/" + last + "/" + strconv.FormatUint(attempt, 10)))
		digits := rand.SafeEncodeString(strconv.FormatUint(h.Sum64(), 36))
		if len(digits) >= placeLength {
			return digits[len(digits)-placeLength:]
		}
	}
}

// PlaceName returns the first part of the names of Pods that belong to nodes, for Blueprint.Name. It leaves space for the ID.
func PlaceName(owner string) string {
	return strings.TrimRight(owner[:min(len(owner), maxPodName-placeLength-1)], "-.")
}
