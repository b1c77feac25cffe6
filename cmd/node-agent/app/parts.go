package app

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/nodeagent/cluster"
	"kruise.io/kruise/pkg/nodeagent/containerreporter"
	"kruise.io/kruise/pkg/nodeagent/containerrestart"
	"kruise.io/kruise/pkg/nodeagent/credentials"
	"kruise.io/kruise/pkg/nodeagent/cri"
	"kruise.io/kruise/pkg/nodeagent/imagepuller"
	"kruise.io/kruise/pkg/nodeagent/podprober"
	"kruise.io/kruise/pkg/nodeagent/server"
	"kruise.io/kruise/pkg/nodeagent/status"
)

// Names of health and readiness checks.
const (
	podInformer       = "podInformerSynced"
	nodeImageInformer = "nodeImageInformerSynced"
	requestInformer   = "crrInformerSynced"
	probeInformer     = "nodePodProbeInformerSynced"
)

// part is one independent function of the agent. A part with an informer also has a health and readiness check.
// Without one, check and synced are empty.
type part struct {
	check  string
	synced func() bool
	run    func(context.Context)
}

// synced returns an error if the part with this check has not synced. A part that does not run counts as synced.
func synced(parts []part, check string) error {
	for _, p := range parts {
		if p.check == check && !p.synced() {
			return errors.New("not synced")
		}
	}
	return nil
}

// informerChecks returns checks of the informers. The parts may be set later: the servers need their checks before
// the runtimes are found. All checks exist whatever the feature gates are, because probes of existing manifests name
// them.
func informerChecks(parts *[]part) []server.Check {
	var checks []server.Check
	for _, name := range []string{podInformer, nodeImageInformer, requestInformer, probeInformer} {
		checks = append(checks, server.Check{Name: name, Run: func(context.Context) error { return synced(*parts, name) }})
	}
	return checks
}

// newParts creates the parts that the feature gates enable. It starts nothing. The first part writes the event about
// the versions, and ends after it.
func newParts(
	ctx context.Context, config *Config, runtimes cri.Runtimes, choice *cri.Choice, events record.EventBroadcaster,
) ([]part, error) {
	recorder := func(suffix string) record.EventRecorder {
		return events.NewRecorder(cluster.Scheme, corev1.EventSource{Component: component + "-" + suffix, Host: config.NodeName})
	}
	reporter := status.Reporter{
		Events: config.Client.Events(metav1.NamespaceDefault), Node: config.NodeName, Clock: clock.RealClock{},
	}
	parts := []part{{run: func(ctx context.Context) { reporter.Report(ctx, describe(runtimes)) }}}
	if config.Gates.Enabled(features.DaemonWatchingPod) {
		containers, err := newContainerReporter(config, runtimes, recorder("containermeta"))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{podInformer, containers.Synced, containers.Run})
	}
	if config.Gates.Enabled(features.KruiseDaemon) {
		puller, err := newImagePuller(config, choice, recorder("imagepuller"), klog.FromContext(ctx))
		if err != nil {
			return nil, err
		}
		restarts, err := newContainerRestart(config, runtimes, recorder("crr"))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{nodeImageInformer, puller.Synced, puller.Run}, part{requestInformer, restarts.Synced, restarts.Run})
	}
	if config.Gates.Enabled(features.PodProbeMarkerGate) {
		prober, err := newPodProber(config, runtimes, recorder("podprobe"))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{probeInformer, prober.Synced, prober.Run})
	}
	return parts, nil
}

// newContainerReporter creates the controller that reports on containers.
func newContainerReporter(config *Config, runtimes cri.Runtimes, recorder record.EventRecorder) (*containerreporter.Controller, error) {
	return containerreporter.New(containerreporter.Config{
		Node: config.NodeName, Client: config.Client, Clock: clock.RealClock{}, Recorder: recorder,
		Environment: config.Gates.Enabled(features.InPlaceUpdateEnvFromMetadata),
		Runtime: func(name string) containerreporter.Runtime {
			if runtime := runtimes.Named(name); runtime != nil {
				return runtime.Containers
			}
			return nil
		},
	})
}

// newImagePuller creates the controller that pulls images. An invalid credential plugin is logged and skipped, so
// that the other plugins and the Secrets still work.
func newImagePuller(
	config *Config, choice *cri.Choice, recorder record.EventRecorder, logger klog.Logger,
) (*imagepuller.Controller, error) {
	plugins, err := credentials.LoadPlugins(config.PluginConfigFile, config.PluginBinDir, clock.RealClock{})
	if err != nil {
		logger.Error(err, "Skipped credential provider plugins")
	}
	return imagepuller.New(imagepuller.Config{
		Node: config.NodeName, Client: config.Client, Plugins: plugins, MaxPulls: config.MaxPulls,
		Recorder: recorder, Clock: clock.RealClock{},
		Images: func(ctx context.Context) (imagepuller.Images, error) {
			runtime, err := choice.Runtime(ctx)
			if err != nil {
				return nil, err
			}
			return runtime.Images, nil
		},
		Secrets: func(ctx context.Context) ([]corev1.Secret, error) {
			list, err := config.Client.PullSecrets(ctx, config.NodeName)
			if err != nil {
				return nil, fmt.Errorf("get the pull secrets of NodeImage %s: %w", config.NodeName, err)
			}
			return list.Items, nil
		},
	})
}

// newContainerRestart creates the controller that carries out ContainerRecreateRequests.
func newContainerRestart(config *Config, runtimes cri.Runtimes, recorder record.EventRecorder) (*containerrestart.Controller, error) {
	return containerrestart.New(containerrestart.Config{
		Node: config.NodeName, Client: config.Client, Clock: clock.RealClock{},
		Workers: config.CRRWorkers, Recorder: recorder,
		Runtime: func(name string) containerrestart.Runtime {
			if runtime := runtimes.Named(name); runtime != nil {
				return runtime.Containers
			}
			return nil
		},
	})
}

// newPodProber creates the controller that runs the probes of PodProbeMarkers.
func newPodProber(config *Config, runtimes cri.Runtimes, recorder record.EventRecorder) (*podprober.Controller, error) {
	var containers []podprober.Runtime
	for _, runtime := range runtimes {
		containers = append(containers, runtime.Containers)
	}
	return podprober.New(podprober.Config{
		Node: config.NodeName, Client: config.Client, Runtimes: containers, Recorder: recorder, Clock: clock.RealClock{},
	})
}

// describe returns the content of the event about this node.
func describe(runtimes cri.Runtimes) status.Report {
	report := status.Report{Agent: version.Get().GitVersion}
	for _, runtime := range runtimes {
		report.Runtimes = append(report.Runtimes, runtime.Name+" "+runtime.Version)
	}
	return report
}
