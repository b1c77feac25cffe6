package engine

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/workload/nodefit"
	"kruise.io/kruise/pkg/workload/podcontrol"
)

// placed is the ID of the last Pod on a node, the time of its creation, and when a Pod was last seen there.
type placed struct {
	id            string
	created, seen time.Time
}

// placesKept is how long the last ID of a node without a Pod is known. After that time, everyone has seen the Pod disappear.
const placesKept = 10 * time.Minute

// seePlaces notes the last Pod on each node, for the names of those that replace them.
func (v *View) seePlaces() {
	if !v.Identity.Places {
		return
	}
	if v.memory.places == nil {
		v.memory.places = map[string]placed{}
	}
	for _, pods := range [][]*corev1.Pod{v.Pods, v.Inactive, v.Released} {
		for _, pod := range pods {
			v.seePlace(nodefit.NodeOf(pod), v.Instance(pod), pod.CreationTimestamp.Time)
		}
	}
	maps.DeleteFunc(v.memory.places, func(_ string, last placed) bool { return v.Now.Sub(last.seen) > placesKept })
}

// seePlace notes a Pod. Times of creation are whole seconds, so two Pods of the same time are compared by the sequence of their IDs.
func (v *View) seePlace(node, id string, created time.Time) {
	if node == "" || id == "" {
		return
	}
	last, known := v.memory.places[node]
	if !known || created.After(last.created) || created.Equal(last.created) && id == v.nextPlaceID(node, last.id) {
		last.id, last.created = id, created
	}
	last.seen = v.Now
	v.memory.places[node] = last
}

func (v *View) nextPlaceID(node, last string) string {
	return podcontrol.NextPlaceID(v.Object.GetUID(), node, last)
}

// PlaceIDs returns an instance ID for a Pod to create on each of the nodes. It follows from the ID of the last Pod on the node, so the Pod
// has another name than the one that it replaces, and a creation that is repeated has the same name and makes no second Pod.
// A controller that starts while a node has no Pod does not know the last one, and begins with the first ID of the node.
//
// A name is taken while any Pod has it: one that terminates, one that waits for its replacement, and one that the workload no longer
// controls.
func (v *View) PlaceIDs(nodes []string) ([]string, error) {
	ids := make([]string, 0, len(nodes))
	for _, node := range nodes {
		id := v.memory.places[node].id
		for taken := true; taken; {
			id = v.nextPlaceID(node, id)
			pod, err := v.podNamed(v.Object.GetNamespace(), podcontrol.PodName(v.Identity.Name, id))
			if err != nil {
				return nil, err
			}
			taken = pod != nil
		}
		ids = append(ids, id)
	}
	return ids, nil
}
