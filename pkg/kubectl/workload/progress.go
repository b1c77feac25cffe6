package workload

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Progress is how far a rollout is. It is read from the object alone; no Pod is read.
type Progress struct {
	// Observed is false while the status describes an older spec.
	Observed bool
	// Wanted is the number of Pods, and Target how many of them are to be updated.
	Wanted, Target int
	// Total, Ready, Updated and Available count Pods. Missing is how many updated Pods are not available yet, or do not exist yet.
	Total, Ready, Updated, Available, Missing int
	// Partitioned is true if a partition keeps Pods at the old revision.
	Partitioned bool
	// InPlace is true if the update policy allows updates in place. OnDelete is true if the user deletes the old
	// Pods.
	InPlace  bool
	OnDelete bool
	Paused   bool
	// Revision is the newest revision.
	Revision string
	// Failed is the reason for which the controller gave up waiting, if it did.
	Failed string
}

// Done reports whether the rollout has reached its target.
func (p Progress) Done() bool { return p.Observed && p.Updated >= p.Target && p.Missing == 0 }

// Waiting returns how many Pods an unfinished rollout waits for. It counts old and new Pods that are not ready, as kubectl does for
// StatefulSets. If all Pods are ready, it returns Missing.
func (p Progress) Waiting() int {
	if p.Ready < p.Wanted {
		return p.Wanted - p.Ready
	}
	return p.Missing
}

// Progress reads how far the rollout of a workload is.
func (w *Workload) Progress() (Progress, error) {
	target, partitioned, err := w.Target()
	if err != nil {
		return Progress{}, err
	}
	p := Progress{
		Wanted: w.Wanted(), Target: target, Partitioned: partitioned,
		Observed: w.observed(), Total: w.Int(w.Total, 0), Ready: w.Int(w.Ready, 0),
		Updated: w.Int(w.Updated, 0), Available: w.Int(w.Available, 0),
		InPlace: w.InPlace(), OnDelete: w.onDelete(), Paused: w.IsPaused(),
		Revision: w.Text(w.Revision), Failed: w.exceeded(),
	}
	// A kind that does not count available Pods by revision counts all available Pods. The rollout then ends a little
	// later, when old Pods are available too.
	if w.Has(w.UpdatedAvailable) {
		p.Missing = max(0, target-w.Int(w.UpdatedAvailable, 0))
	} else {
		p.Missing = max(0, p.Wanted-p.Available, target-p.Updated)
	}
	return p, nil
}

// observed returns true if the status describes the current spec. A status that was never written does not.
func (w *Workload) observed() bool {
	generation, _, _ := unstructured.NestedInt64(w.content, "status", "observedGeneration")
	return generation != 0 && generation >= w.GetGeneration()
}

// InPlace reports whether Pods are updated in place. It reads the policy of both versions: the names of the values are the same.
func (w *Workload) InPlace() bool {
	switch w.Text(w.PodPolicy) {
	case "InPlaceIfPossible", "InPlaceOnly":
		return true
	default:
		return false
	}
}

// Condition is a condition of a workload of any kind.
type Condition struct {
	Type    string                 `json:"type"`
	Status  corev1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
	Since   metav1.Time            `json:"lastTransitionTime"`
}

// Conditions returns the conditions in the status. Conditions that cannot be read count as none.
func (w *Workload) Conditions() (all []Condition) {
	raw, _, _ := unstructured.NestedSlice(w.content, "status", "conditions")
	encoded, err := json.Marshal(raw)
	if err != nil || json.Unmarshal(encoded, &all) != nil {
		return nil
	}
	return all
}

// exceeded returns the message of a rollout that exceeded its deadline, or an empty string.
func (w *Workload) exceeded() string {
	for _, c := range w.Conditions() {
		if c.Type == "Progressing" && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// TemplatePath returns the path of the Pod template, with dots.
func (w *Workload) TemplatePath() string { return w.Template.In(w.version) }

// WithTemplate returns a copy of the object with another Pod template. The object itself does not change.
func (w *Workload) WithTemplate(template map[string]any) (runtime.Object, error) {
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(w.content)}
	return object, unstructured.SetNestedMap(object.Object, template, w.fields(w.Template)...)
}
