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

// PlaceID returns the ID of an instance that belongs to a node. It is the same for the same node, unless it is taken. The API server
// therefore refuses a second Pod of the owner on the node, even if the controller was killed before it saw the first one.
func PlaceID(owner types.UID, node string, taken func(id string) (bool, error)) (string, error) {
	for attempt := uint64(0); ; attempt++ {
		h := fnv.New64a()
		_, _ = h.Write([]byte(string(owner) + "/" + node + "/" + strconv.FormatUint(attempt, 10)))
		digits := rand.SafeEncodeString(strconv.FormatUint(h.Sum64(), 36))
		if len(digits) < placeLength {
			continue
		}
		id := digits[len(digits)-placeLength:]
		if used, err := taken(id); err != nil || !used {
			return id, err
		}
	}
}

// PlaceName returns the first part of the names of Pods that belong to nodes, for Blueprint.Name. It leaves space for the ID.
func PlaceName(owner string) string {
	return strings.TrimRight(owner[:min(len(owner), maxPodName-placeLength-1)], "-.")
}
