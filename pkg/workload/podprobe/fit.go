package podprobe

import (
	"cmp"
	"slices"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
)

// Limits of the entries in a NodePodProbe, in bytes. What a tenant writes once is stored for each node that runs its Pods.
// docs/design/0029-bounds-on-nodes.md explains the numbers.
const (
	// maxOfNode limits all entries together. The object also has a result for each probe, and must fit into the store.
	maxOfNode = 384 << 10
	// maxOfNamespace limits the entries of one namespace, also if the node has room.
	maxOfNamespace = 96 << 10
	// maxOfPod limits one entry. So the size of all NodePodProbes grows with the Pods of a namespace only, which a quota can limit.
	maxOfPod = 16 << 10
)

// Fit sorts the entries of a node, leaves out those without probes, and removes probes that are too many or too large. It returns
// the probes that it removed, as entries of their Pods. It changes the given slice.
//
// If the node has no room for all, each namespace gets the same share, and what a namespace does not need goes to the others. So no
// namespace takes the room of a smaller one. Within a namespace, the largest entries lose their last probes first.
func Fit(entries []v1alpha1.PodProbe) (fit, removed []v1alpha1.PodProbe) {
	entries = slices.DeleteFunc(entries, withoutProbes)
	slices.SortFunc(entries, func(a, b v1alpha1.PodProbe) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	namespaces := byNamespace(entries)
	needs := make([]int, len(namespaces))
	for i, of := range namespaces {
		needs[i] = need(of)
	}
	for i, share := range shares(needs, maxOfNode) {
		removed = append(removed, fitInto(namespaces[i], share)...)
	}
	return slices.DeleteFunc(entries, withoutProbes), removed
}

func withoutProbes(entry v1alpha1.PodProbe) bool { return len(entry.Probes) == 0 }

// byNamespace returns the entries of each namespace. They are sorted, and the parts share memory with them.
func byNamespace(entries []v1alpha1.PodProbe) (parts [][]v1alpha1.PodProbe) {
	first := 0
	for i := range entries {
		if i+1 == len(entries) || entries[i+1].Namespace != entries[first].Namespace {
			parts, first = append(parts, entries[first:i+1]), i+1
		}
	}
	return parts
}

// need returns how much room the entries of one namespace may use at most.
func need(entries []v1alpha1.PodProbe) int {
	total := 0
	for i := range entries {
		total += min(entries[i].Size(), maxOfPod)
	}
	return min(total, maxOfNamespace)
}

// shares divides the room. A namespace that needs less than an equal part gets what it needs, and the others divide the rest equally.
func shares(needs []int, room int) []int {
	order := make([]int, len(needs))
	for i := range needs {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(needs[a], needs[b]) })
	result := make([]int, len(needs))
	for served, i := range order {
		result[i] = min(needs[i], room/(len(needs)-served))
		room -= result[i]
	}
	return result
}

// fitInto removes probes from the entries of one namespace until they fit into the room. The smallest entries take their room first.
func fitInto(entries []v1alpha1.PodProbe, room int) (removed []v1alpha1.PodProbe) {
	// The entries stay in their order; the indexes are sorted by size.
	bySize := make([]int, len(entries))
	for i := range entries {
		bySize[i] = i
	}
	slices.SortStableFunc(bySize, func(a, b int) int { return cmp.Compare(entries[a].Size(), entries[b].Size()) })
	for _, i := range bySize {
		if limit := min(room, maxOfPod); entries[i].Size() > limit {
			removed = append(removed, shorten(&entries[i], limit))
		}
		// An entry that lost all its probes takes no room.
		if len(entries[i].Probes) > 0 {
			room -= entries[i].Size()
		}
	}
	return removed
}

// shorten removes the last probes of an entry until it is small enough, and returns an entry with those.
func shorten(entry *v1alpha1.PodProbe, limit int) v1alpha1.PodProbe {
	keep := len(entry.Probes)
	for size := entry.Size(); keep > 0 && size > limit; {
		keep--
		size -= entry.Probes[keep].Size()
	}
	removed := *entry
	removed.Probes = entry.Probes[keep:]
	entry.Probes = entry.Probes[:keep]
	return removed
}

// Full reports whether a NodePodProbe may have no room for the probes of a wanted entry: the part of the Pod, of its namespace or of
// the node may be used up. It asks for half of the node's part only, because the shares of the namespaces depend on their needs.
func Full(object *v1alpha1.NodePodProbe, wanted *v1alpha1.PodProbe) bool {
	pod, namespace, node := wanted.Size(), wanted.Size(), 0
	for i := range object.Spec.PodProbes {
		entry := &object.Spec.PodProbes[i]
		size := entry.Size()
		node += size
		if entry.Namespace == wanted.Namespace {
			namespace += size
		}
		if entry.UID == wanted.UID {
			pod += size
		}
	}
	return pod > maxOfPod || namespace > maxOfNamespace || node > maxOfNode/2
}
