package history

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Action is the write that makes the revision of the wanted data the newest one.
type Action int

const (
	// Reuse writes nothing.
	Reuse Action = iota
	// Bump writes a higher number into an older revision.
	Bump
	// Create writes a new revision.
	Create
)

// Resolution says which revision stores some data.
type Resolution struct {
	Action Action
	// Revision is the revision to reuse or to bump. It is nil if a revision must be created.
	Revision *appsv1.ControllerRevision
	// Number is the revision number that the revision must have.
	Number int64
}

// Sort sorts revisions by number, oldest first.
func Sort(revisions []*appsv1.ControllerRevision) {
	slices.SortFunc(revisions, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// Resolve finds the revision of the content among the existing revisions, which must be sorted. Of several with the same data, the
// newest is taken. A higher number makes an old revision the newest, so a rollback creates no new one.
func (f *Format) Resolve(content *Content, revisions []*appsv1.ControllerRevision) Resolution {
	if len(revisions) == 0 {
		return Resolution{Action: Create, Number: 1}
	}
	newest := revisions[len(revisions)-1]
	wanted := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Annotations: content.Annotations}, Data: runtime.RawExtension{Raw: content.Data},
	}
	if f.Same(newest, wanted) {
		return Resolution{Action: Reuse, Revision: newest, Number: newest.Revision}
	}
	for _, revision := range slices.Backward(revisions[:len(revisions)-1]) {
		if f.Same(revision, wanted) {
			return Resolution{Action: Bump, Revision: revision, Number: newest.Revision + 1}
		}
	}
	return Resolution{Action: Create, Number: newest.Revision + 1}
}

// Find returns the revision with the name, or nil.
func Find(revisions []*appsv1.ControllerRevision, name string) *appsv1.ControllerRevision {
	for _, revision := range revisions {
		if revision.Name == name {
			return revision
		}
	}
	return nil
}

// Trim returns the oldest revisions beyond the limit that are not live. The revisions must be sorted. Live ones do not count
// towards the limit. A negative limit counts as zero.
func Trim(revisions []*appsv1.ControllerRevision, live func(*appsv1.ControllerRevision) bool, limit int) []*appsv1.ControllerRevision {
	var spare []*appsv1.ControllerRevision
	for _, revision := range revisions {
		if !live(revision) {
			spare = append(spare, revision)
		}
	}
	return spare[:max(0, len(spare)-max(0, limit))]
}
