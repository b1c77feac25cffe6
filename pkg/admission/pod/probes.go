package pod

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/workload/podprobe"
	"kruise.io/kruise/pkg/workload/podstate"
)

// probes sets the annotations that tell the provider of a virtual node which probes to run. The node of a new Pod is unknown, so Pods
// on other nodes get them too; their agent does not read them.
type probes struct {
	features featuregate.FeatureGate
	// markers has the index of package podprobe. synced says whether it is filled; only this mutator waits for it.
	markers cache.Indexer
	synced  func() bool
}

// mutate writes what podprobe.Annotations returns for the PodProbeMarkers that select the Pod. It fails while the
// markers are not loaded: without its annotations, the provider would never run the probes.
func (p *probes) mutate(_ context.Context, e *edit, _ admission.Attributes) error {
	if !p.features.Enabled(features.EnablePodProbeMarkerOnServerless) || !podstate.Active(e.pod) {
		return nil
	}
	if !p.synced() {
		return apierrors.NewServiceUnavailable("the PodProbeMarkers are not loaded yet; try again in a few seconds")
	}
	markers, err := podprobe.Selecting(p.markers, e.pod.Namespace, e.pod.Labels)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	annotations, err := podprobe.Annotations(e.pod, markers)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	e.annotateAll(annotations)
	return nil
}
