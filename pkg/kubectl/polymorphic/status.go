package polymorphic

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	helpers "k8s.io/kubectl/pkg/polymorphichelpers"

	"kruise.io/kruise/pkg/kubectl/workload"
)

var errOnDelete = errors.New("rollout status is only available for RollingUpdate strategy type")

// statusViewerFor returns the function that kubectl calls for rollout status.
func statusViewerFor(other helpers.StatusViewerFunc) helpers.StatusViewerFunc {
	return func(mapping *meta.RESTMapping) (helpers.StatusViewer, error) {
		if rowFor(mapping) == nil {
			return other(mapping)
		}
		return statusViewer{}, nil
	}
}

// statusViewer tells how far a rollout is. One rule holds for all kinds and update policies: the controller has observed the spec,
// then as many Pods as the partition allows are updated, then they are available.
type statusViewer struct{}

// Status implements kubectl's StatusViewer. kubectl calls it for each change of the object, until it returns true or
// an error. The number of the revision is ignored, as kubectl does for all kinds but Deployments: the objects do not have it.
func (statusViewer) Status(object runtime.Unstructured, _ int64) (string, bool, error) {
	read := &unstructured.Unstructured{Object: object.UnstructuredContent()}
	w, err := workload.Of(read)
	if err != nil {
		return "", false, err
	}
	if w == nil {
		return "", false, fmt.Errorf("no status viewer has been implemented for %s", read.GetKind())
	}
	p, err := w.Progress()
	if err != nil {
		return "", false, err
	}
	if p.OnDelete {
		return "", false, errOnDelete
	}
	text, done := Sentence(w, p)
	if !done && p.Failed != "" {
		return "", false, fmt.Errorf("%s %q: %s", w.Resource, w.GetName(), p.Failed)
	}
	return text + "\n", done, nil
}

// Sentence says how far a rollout is, and whether it is done.
func Sentence(w *workload.Workload, p workload.Progress) (text string, done bool) {
	partitioned := p.Partitioned
	if w.Texts.InPlace {
		partitioned = p.InPlace
	}
	switch {
	case !p.Observed:
		return fmt.Sprintf("Waiting for %s spec update to be observed...", w.Title), false
	case partitioned && p.Updated < p.Target:
		return fmt.Sprintf(w.Texts.Waiting, p.Updated, p.Target), false
	// Not all Pods that are to be updated are updated and available.
	case p.Missing > 0:
		return fmt.Sprintf("Waiting for %d pods to be ready...", p.Waiting()), false
	case partitioned && w.Texts.PartitionDone != "":
		return fmt.Sprintf(w.Texts.PartitionDone, p.Updated), true
	default:
		return fmt.Sprintf("%s rolling update complete %d pods at revision %s...", w.Title, p.Available, p.Revision), true
	}
}
