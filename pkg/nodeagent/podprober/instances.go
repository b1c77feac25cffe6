package podprober

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/nodeagent/kubelet"
)

// listAge is how old a list of a Pod's containers may be. Probes of one Pod share it, so a Pod costs about one list in a second.
const listAge = 900 * time.Millisecond

// instance is the newest instance of a container.
type instance struct {
	runtime Runtime
	id      string
	state   runtimeapi.ContainerState
	// startedAt has a monotonic reading, see since.
	startedAt time.Time
}

// instances caches the instances of one Pod.
type instances struct {
	mu     sync.Mutex
	listed time.Time
	byName map[string]*instance
	// runtime is the runtime that had containers of the Pod.
	runtime Runtime
}

// find returns the newest instance of a container, or nil if it does not exist. The lock is held during calls of the
// runtime, so probes of one Pod that are due together list its containers once.
func (i *instances) find(ctx context.Context, c clock.PassiveClock, runtimes []Runtime, pod podKey, name string) (*instance, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byName == nil || c.Since(i.listed) >= listAge {
		if err := i.list(ctx, c, runtimes, pod); err != nil {
			return nil, err
		}
	}
	found := i.byName[name]
	if found == nil || found.state != runtimeapi.ContainerState_CONTAINER_RUNNING || !found.startedAt.IsZero() {
		return found, nil
	}
	// The list does not say when the container started, but the delay of a probe counts from then.
	response, err := found.runtime.ContainerStatus(ctx, found.id, false)
	if err != nil {
		return nil, fmt.Errorf("get status of container %s: %w", found.id, err)
	}
	found.startedAt = since(c.Now(), time.Unix(0, response.GetStatus().GetStartedAt()))
	return found, nil
}

// since returns when the container started, with the monotonic reading of now. So a change of the node's clock does not
// change when probes are due. A start in the future shows that the clock was set back: the container runs, so it started
// by now.
func since(now, started time.Time) time.Time { return now.Add(min(started.Sub(now), 0)) }

// forget makes the next call of find list the containers again.
func (i *instances) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.byName = nil
}

// list lists the containers of the Pod. The Pod is in one of the runtimes: the entry of a probe does not say which.
func (i *instances) list(ctx context.Context, c clock.PassiveClock, runtimes []Runtime, pod podKey) error {
	// A Pod does not change its runtime.
	if i.runtime != nil {
		runtimes = []Runtime{i.runtime}
	}
	var errs []error
	known := i.byName
	// A failed list leaves no cache, so the next probe asks again.
	i.byName, i.listed = nil, c.Now()
	for _, runtime := range runtimes {
		listed, err := kubelet.List(ctx, runtime, map[string]string{kubelet.PodUIDLabel: string(pod.uid)})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if len(listed) == 0 {
			continue
		}
		// The Pod stays in this runtime, so later lists ask only this one.
		i.runtime, i.byName = runtime, map[string]*instance{}
		for name, container := range kubelet.Newest(listed) {
			i.byName[name] = &instance{runtime: runtime, id: container.GetId(), state: container.GetState()}
			if old := known[name]; old != nil && old.id == container.GetId() {
				i.byName[name].startedAt = old.startedAt
			}
		}
		return nil
	}
	// No runtime has a container of the Pod. The next list asks all of them again.
	if i.runtime = nil; len(errs) > 0 {
		return errors.Join(errs...)
	}
	i.byName = map[string]*instance{}
	return nil
}
