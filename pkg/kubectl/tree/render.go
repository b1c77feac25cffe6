package tree

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/kubectl/workload"
	"kruise.io/kruise/pkg/workload/history"
	"kruise.io/kruise/pkg/workload/podstate"
)

// Facts are what the tree shows. Revisions are the oldest first.
type Facts struct {
	Workload  *workload.Workload
	Progress  workload.Progress
	Revisions []*appsv1.ControllerRevision
	Pods      []*corev1.Pod
	// Claims are the claims of each Pod, by the name of the Pod.
	Claims map[string][]*corev1.PersistentVolumeClaim
}

// node is a line of the tree, and what is below it.
type node struct {
	text  string
	below []node
}

// Render returns the tree as text: the workload, its revisions with the newest first, and below each one its Pods
// with their claims. Pods whose revision is gone come last.
func Render(f *Facts) string {
	p := f.Progress
	root := node{text: fmt.Sprintf("%s.%s/%s  %d/%d updated, %d/%d available", f.Workload.Resource, f.Workload.Group, f.Workload.GetName(),
		p.Updated, p.Target, p.Available, p.Wanted)}
	shown := map[string]bool{}
	for _, revision := range slices.Backward(f.Revisions) {
		// A Pod is shown once, below the first revision that its label matches.
		text := fmt.Sprintf("controllerrevision/%s  revision %d", revision.Name, revision.Revision)
		if history.Matches(p.Revision, revision.Name) {
			text += ", newest"
		}
		below := node{text: text}
		for _, pod := range f.Pods {
			if !shown[pod.Name] && history.Matches(pod.Labels[pub.ControllerRevisionHashKey], revision.Name) {
				shown[pod.Name] = true
				below.below = append(below.below, f.pod(pod))
			}
		}
		root.below = append(root.below, below)
	}
	// What no revision has claimed: the label of such a Pod names a revision that was deleted.
	for _, pod := range f.Pods {
		if !shown[pod.Name] {
			root.below = append(root.below, f.pod(pod))
		}
	}
	out := &strings.Builder{}
	root.write(out, "", "")
	return out.String()
}

// pod returns the node of a Pod with its claims.
func (f *Facts) pod(pod *corev1.Pod) node {
	words := []string{string(pod.Status.Phase)}
	// The phase does not show that a Pod is being deleted.
	if pod.DeletionTimestamp != nil {
		words = []string{"Terminating"}
	}
	if podstate.Ready(pod) {
		words = append(words, "ready")
	} else {
		words = append(words, "not ready")
	}
	if state := pod.Labels[pub.LifecycleStateKey]; state != "" {
		words = append(words, state)
	}
	found := node{text: fmt.Sprintf("pod/%s  %s", pod.Name, strings.Join(words, ", "))}
	for _, claim := range f.Claims[pod.Name] {
		size := claim.Status.Capacity[corev1.ResourceStorage]
		found.below = append(found.below, node{
			text: fmt.Sprintf("persistentvolumeclaim/%s  %s, %s", claim.Name, claim.Status.Phase, size.String()),
		})
	}
	return found
}

// write writes a node. first starts its own line, and rest the lines below.
func (n *node) write(out *strings.Builder, first, rest string) {
	out.WriteString(first + n.text + "\n")
	for i := range n.below {
		if i == len(n.below)-1 {
			n.below[i].write(out, rest+"└─", rest+"  ")
		} else {
			n.below[i].write(out, rest+"├─", rest+"│ ")
		}
	}
}
