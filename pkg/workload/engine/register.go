package engine

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/workload/history"
)

// nameAttempts limits how often a pass tries another name for a revision. A name is a hash, so one collision is already rare.
const nameAttempts = 5

// Register writes the revisions of a kind whose Pods are not written by an Engine, for example of SidecarSets and
// UnitedDeployments. Its fields are only read.
type Register struct {
	Server Server
	Guard  Guard
	// Format says how the kind stores and compares revisions.
	Format *history.Format
	// Kind is the kind of the owners.
	Kind schema.GroupVersionKind
	// Namespace is the namespace of the revisions. If it is empty, they are in the namespace of their owner.
	Namespace string
}

// Newest makes the revision with the content the newest of all revisions of the owner. It sorts them, and returns them, oldest
// first, and the collision count. Content that is stored already gets a higher number, so a rollback finds its old revision. If
// an error is returned, the collision count is still the one to report.
func (r *Register) Newest(
	ctx context.Context, owner metav1.Object, all []*appsv1.ControllerRevision, content *history.Content, collisions *int32,
) ([]*appsv1.ControllerRevision, *int32, error) {
	history.Sort(all)
	resolution := r.Format.Resolve(content, all)
	newest := resolution.Revision
	var err error
	switch resolution.Action {
	case history.Create:
		newest, collisions, err = r.create(ctx, owner, content, resolution.Number, collisions)
	case history.Bump:
		newest = newest.DeepCopy()
		newest.Revision = resolution.Number
		newest, err = r.Update(ctx, owner, newest)
	case history.Reuse:
	}
	if err != nil {
		return nil, collisions, err
	}
	return WithNewest(all, newest), collisions, nil
}

// create stores a new revision. If its name is taken by other data, the collision count grows and with it the name changes. The
// count goes to the status of the owner, so the next pass computes the same name.
func (r *Register) create(
	ctx context.Context, owner metav1.Object, content *history.Content, number int64, collisions *int32,
) (*appsv1.ControllerRevision, *int32, error) {
	for range nameAttempts {
		wanted := r.Format.New(owner, *metav1.NewControllerRef(owner, r.Kind), content, number, collisions)
		if r.Namespace != "" {
			wanted.Namespace = r.Namespace
		}
		stored, err := CreateRevision(ctx, r.Server, r.Guard, owner, r.Format, wanted)
		if err != nil || stored != nil {
			return stored, collisions, err
		}
		collisions = new(ptr.Deref(collisions, 0) + 1)
	}
	return nil, collisions, fmt.Errorf("create a revision of %s %s: %d names are taken", r.Kind.Kind, owner.GetName(), nameAttempts)
}

// Update replaces a revision of the owner. It fails with a conflict if the revision has changed since it was read.
func (r *Register) Update(
	ctx context.Context, owner metav1.Object, revision *appsv1.ControllerRevision,
) (*appsv1.ControllerRevision, error) {
	stored, err := r.Server.UpdateRevision(ctx, revision)
	if err != nil {
		return nil, fmt.Errorf("update revision %s: %w", revision.Name, err)
	}
	r.Guard.Wrote(owner.GetUID(), RevisionResource.GroupResource(), stored.ResourceVersion)
	return stored, nil
}

// WithNewest returns the revisions with the given one as the last. A revision of the same name is replaced. The given slice is
// changed.
func WithNewest(all []*appsv1.ControllerRevision, newest *appsv1.ControllerRevision) []*appsv1.ControllerRevision {
	all = slices.DeleteFunc(all, func(revision *appsv1.ControllerRevision) bool { return revision.Name == newest.Name })
	return append(all, newest)
}
