package imagepulljob

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/imagetag"
)

// refusalAge is how long an endless job does not ask a node again whose NodeImage was refused. Other jobs do not ask it again. Their
// result is final, but an endless job must serve the node when there is room again.
const refusalAge = 10 * time.Minute

// refusals remembers the nodes whose NodeImages the server refuses to change, for example because they list 256 images. Such a
// node counts as failed. A process that restarts asks it once more.
type refusals struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	// of holds the times of refusals, by the UID of the job.
	of map[types.UID]map[refusalKey]time.Time
}

// refusalKey is a node and the image that a job asked it for. The image of a job may change.
type refusalKey struct {
	node string
	ref  imagetag.Reference
}

// add records that a node refused a job.
func (f *refusals) add(job types.UID, node string, ref imagetag.Reference) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[types.UID]map[refusalKey]time.Time{}
	}
	if f.of[job] == nil {
		f.of[job] = map[refusalKey]time.Time{}
	}
	f.of[job][refusalKey{node, ref}] = f.clock.Now()
}

// nodes returns the nodes that refused the job, and the delay until one of them is to be asked again, or zero.
func (f *refusals) nodes(job *v1beta1.ImagePullJob, ref imagetag.Reference) (nodes map[string]bool, again time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, at := range f.of[job.UID] {
		left := refusalAge - f.clock.Since(at)
		// A refusal of another image says nothing about this one.
		if key.ref != ref || endless(job) && left <= 0 {
			delete(f.of[job.UID], key)
			continue
		}
		if nodes == nil {
			nodes = map[string]bool{}
		}
		nodes[key.node] = true
		// The job that ends counts the node as failed and never asks it again.
		if endless(job) && (again == 0 || left < again) {
			again = left
		}
	}
	return nodes, again
}

// forget drops what is kept for a deleted job.
func (f *refusals) forget(job types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, job)
}
