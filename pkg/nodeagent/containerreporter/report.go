package containerreporter

import (
	"context"
	"fmt"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/containerreport"
	"kruise.io/kruise/pkg/nodeagent/kubelet"
)

// Runtime lists the CRI calls that this package makes. Tests replace it.
type Runtime interface {
	ListContainers(ctx context.Context, filter *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error)
	ContainerStatus(ctx context.Context, containerID string, verbose bool) (*runtimeapi.ContainerStatusResponse, error)
	ExecSync(ctx context.Context, containerID string, cmd []string, timeout time.Duration) (stdout, stderr []byte, err error)
	StopContainer(ctx context.Context, containerID string, timeout int64) error
}

// runtimeOf returns the runtime that runs the containers of the Pod, and the runtime's name. All containers of a Pod
// have the same runtime, so the first instance decides. It returns nil if no container has started or if the agent
// does not know the runtime.
func (c *Controller) runtimeOf(r *knownPod) (Runtime, string) {
	for i := range r.containers {
		if name, _, found := strings.Cut(r.containers[i].id, "://"); found {
			return c.config.Runtime(name), name
		}
	}
	return nil, ""
}

// report returns the report on a Pod from the data of the runtime. known is false while an environment could not be
// read; the report is then written without the hash, and the caller tries again soon.
func (c *Controller) report(ctx context.Context, r *knownPod) (report *containerreport.Report, known bool, err error) {
	runtime, scheme := c.runtimeOf(r)
	if runtime == nil {
		return nil, false, fmt.Errorf("no container runtime named %q", scheme)
	}
	listed, err := kubelet.List(ctx, runtime, map[string]string{kubelet.PodUIDLabel: string(r.UID)})
	if err != nil {
		return nil, false, err
	}
	newest := kubelet.Newest(listed)
	report, known = &containerreport.Report{Containers: []containerreport.Container{}}, true
	for i := range r.containers {
		container := newest[r.containers[i].name]
		if container == nil {
			continue
		}
		entry := entryOf(&r.containers[i], scheme, container)
		// An instance that is in the report already is not asked again: its image, its count and its environment
		// never change.
		if before := r.report.Find(entry.Name); before != nil && before.ContainerID == entry.ContainerID {
			entry = *before
		}
		// A report of an agent without this feature has no hash yet.
		if c.config.Environment && entry.Hashes.ExtractedEnvFromMetadataHash == 0 {
			hash, err := c.environmentHash(ctx, runtime, container.GetId(), r, &r.containers[i])
			if err != nil {
				klog.FromContext(ctx).V(2).Info("Failed to read the environment, retrying", "container", entry.Name, "err", err)
				known = false
			}
			entry.Hashes.ExtractedEnvFromMetadataHash = hash
		}
		report.Containers = append(report.Containers, entry)
	}
	return report, known, nil
}

// entryOf returns the data that the kubelet stored on the container when it created the container. The hash of the
// environment is not among them.
func entryOf(in *instance, scheme string, container *runtimeapi.Container) containerreport.Container {
	return containerreport.Container{
		Name: in.name, ContainerID: scheme + "://" + container.GetId(), Image: container.GetImage().GetUserSpecifiedImage(),
		RestartCount: kubelet.RestartCount(container), Hashes: containerreport.Hashes{PlainHash: kubelet.Hash(container)},
	}
}
