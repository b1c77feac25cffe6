package garbagecollection

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// owners holds the objects of a store by kind and name.
type owners struct {
	stored map[string]*metav1.PartialObjectMetadata
	// dependents are those of all owners.
	dependents []string
	err        error
}

func (o owners) Dependents(context.Context, string, types.UID) ([]string, error) {
	return o.dependents, o.err
}

func (o owners) Has(group string) bool { return group == "apps.kruise.io" }

func (o owners) Get(_ context.Context, kind schema.GroupVersionKind, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	if o.err != nil {
		return nil, o.err
	}
	if found := o.stored[kind.Kind+" "+namespace+"/"+name]; found != nil {
		return found, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, name)
}

func owner(apiVersion, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: "CloneSet", Name: name, UID: uid}
}

func deletion(username string, options *metav1.DeleteOptions, references ...metav1.OwnerReference) admission.Attributes {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1", OwnerReferences: references}}
	return admission.NewAttributesRecord(nil, pod, corev1.SchemeGroupVersion.WithKind("Pod"), "ns", "web-1",
		corev1.SchemeGroupVersion.WithResource("pods"), "", admission.Delete, options, false, &user.DefaultInfo{Name: username})
}

func TestCollectorDeletesOnlyWithoutAnOwner(t *testing.T) {
	now := metav1.Now()
	stored := map[string]*metav1.PartialObjectMetadata{
		"CloneSet ns/web": {ObjectMeta: metav1.ObjectMeta{UID: "1"}},
		"CloneSet ns/foreground": {ObjectMeta: metav1.ObjectMeta{
			UID: "2", DeletionTimestamp: &now, Finalizers: []string{metav1.FinalizerDeleteDependents},
		}},
		"CloneSet ns/held": {ObjectMeta: metav1.ObjectMeta{UID: "3", DeletionTimestamp: &now, Finalizers: []string{"example.com/wait"}}},
	}
	const ours = "apps.kruise.io/v1beta1"
	for name, tc := range map[string]struct {
		references []metav1.OwnerReference
		refused    bool
	}{
		"the owner exists":                         {[]metav1.OwnerReference{owner(ours, "web", "1")}, true},
		"one of two owners exists":                 {[]metav1.OwnerReference{owner(ours, "gone", "9"), owner(ours, "web", "1")}, true},
		"the owner is gone":                        {[]metav1.OwnerReference{owner(ours, "gone", "9")}, false},
		"another object has the name of the owner": {[]metav1.OwnerReference{owner(ours, "web", "9")}, false},
		"the owner waits for its dependents":       {[]metav1.OwnerReference{owner(ours, "foreground", "2")}, false},
		"the owner waits for something else":       {[]metav1.OwnerReference{owner(ours, "held", "3")}, true},
		"the owner is of another group":            {[]metav1.OwnerReference{owner("apps/v1", "web", "1")}, false},
		"there is no owner":                        {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := New()
			p.SetKruiseOwners(owners{stored: stored})
			err := p.Validate(t.Context(), deletion(collector, &metav1.DeleteOptions{}, tc.references...), nil)
			if !tc.refused {
				require.NoError(t, err)
				return
			}
			assert.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, "which owns it, exists; to delete it, delete the owner")
		})
	}
}

func TestOnlyTheCollectorIsRefused(t *testing.T) {
	background, uid := metav1.DeletePropagationBackground, types.UID("u")
	ofCollector := &metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid}}
	for name, tc := range map[string]struct {
		user    string
		options *metav1.DeleteOptions
		refused bool
	}{
		"a user":                  {"alice", ofCollector, false},
		"the controller of nodes": {"system:serviceaccount:kube-system:node-controller", ofCollector, false},
		"the garbage collector":   {collector, ofCollector, true},
		"the garbage collector under a shared name":  {controllerManager, ofCollector, true},
		"eviction by taints under a shared name":     {controllerManager, &metav1.DeleteOptions{}, false},
		"the controller of namespaces, shared name":  {controllerManager, &metav1.DeleteOptions{PropagationPolicy: &background}, false},
		"a controller that names what it has seen":   {controllerManager, &metav1.DeleteOptions{Preconditions: ofCollector.Preconditions}, false},
		"a subject that only looks like a collector": {collector + "-2", ofCollector, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := New()
			p.SetKruiseOwners(owners{stored: map[string]*metav1.PartialObjectMetadata{"CloneSet ns/web": {ObjectMeta: metav1.ObjectMeta{UID: "1"}}}})
			err := p.Validate(t.Context(), deletion(tc.user, tc.options, owner("apps.kruise.io/v1alpha1", "web", "1")), nil)
			assert.Equal(t, tc.refused, apierrors.IsForbidden(err), "%v", err)
		})
	}
}

// The controller that deletes finished Jobs can have the same user as the garbage collector, and says as much about what it deletes.
func TestFinishedJobIsDeletedWhenItsTimeIsOver(t *testing.T) {
	job := func(edits ...func(*batchv1.Job)) *batchv1.Job {
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "web-1", OwnerReferences: []metav1.OwnerReference{owner("apps.kruise.io/v1beta1", "web", "1")},
			},
			Spec:   batchv1.JobSpec{TTLSecondsAfterFinished: new(int32)},
			Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}},
		}
		for _, edit := range edits {
			edit(job)
		}
		return job
	}
	for name, tc := range map[string]struct {
		user    string
		policy  metav1.DeletionPropagation
		job     *batchv1.Job
		refused bool
	}{
		"complete": {controllerManager, metav1.DeletePropagationForeground, job(), false},
		"failed": {controllerManager, metav1.DeletePropagationForeground, job(func(j *batchv1.Job) {
			j.Status.Conditions[0].Type = batchv1.JobFailed
		}), false},
		"running": {controllerManager, metav1.DeletePropagationForeground, job(func(j *batchv1.Job) { j.Status.Conditions = nil }), true},
		"suspended": {controllerManager, metav1.DeletePropagationForeground, job(func(j *batchv1.Job) {
			j.Status.Conditions[0].Type = batchv1.JobSuspended
		}), true},
		"no longer failed": {controllerManager, metav1.DeletePropagationForeground, job(func(j *batchv1.Job) {
			j.Status.Conditions[0].Status = corev1.ConditionFalse
		}), true},
		"to be kept": {controllerManager, metav1.DeletePropagationForeground, job(func(j *batchv1.Job) {
			j.Spec.TTLSecondsAfterFinished = nil
		}), true},
		"in the background":             {controllerManager, metav1.DeletePropagationBackground, job(), true},
		"by the garbage collector only": {collector, metav1.DeletePropagationForeground, job(), true},
	} {
		t.Run(name, func(t *testing.T) {
			p := New()
			p.SetKruiseOwners(owners{stored: map[string]*metav1.PartialObjectMetadata{"CloneSet ns/web": {ObjectMeta: metav1.ObjectMeta{UID: "1"}}}})
			options := &metav1.DeleteOptions{PropagationPolicy: &tc.policy, Preconditions: metav1.NewUIDPreconditions("u")}
			err := p.Validate(t.Context(), admission.NewAttributesRecord(nil, tc.job, batchv1.SchemeGroupVersion.WithKind("Job"), "ns", "web-1",
				batchv1.SchemeGroupVersion.WithResource("jobs"), "", admission.Delete, options, false, &user.DefaultInfo{Name: tc.user}), nil)
			assert.Equal(t, tc.refused, apierrors.IsForbidden(err), "%v", err)
		})
	}
}

// An error of status 500 or above fails the call of the webhook, so kube-apiserver refuses the deletion.
func TestUnreadableOwnerFailsTheReview(t *testing.T) {
	for _, cause := range []error{apierrors.NewServiceUnavailable("the store is closed"), errors.New("this server does not serve x")} {
		p := New()
		p.SetKruiseOwners(owners{err: cause})
		err := p.Validate(t.Context(), deletion(collector, &metav1.DeleteOptions{}, owner("apps.kruise.io/v1beta1", "web", "1")), nil)
		assert.True(t, apierrors.IsInternalError(err), "%v", err)
	}
}

func TestReaderIsRequired(t *testing.T) {
	require.ErrorContains(t, New().ValidateInitialization(), "missing a reader for Kruise objects of any kind")
}

// The garbage collector must see all dependents before the owner is gone. Otherwise it deletes those that it sees later.
func TestOwnerWaitsUntilItsDependentsAreReleased(t *testing.T) {
	now := metav1.Now()
	const orphan = metav1.FinalizerOrphanDependents
	for name, test := range map[string]struct {
		owners        owners
		deleted       *metav1.Time
		before, after []string
		group         string
		want          func(error) bool
	}{
		"a dependent is left": {
			owners: owners{dependents: []string{"clonesets.apps.kruise.io/web-a"}}, deleted: &now,
			before: []string{orphan}, group: "apps.kruise.io", want: apierrors.IsConflict,
		},
		"none is left": {
			deleted: &now, before: []string{orphan}, group: "apps.kruise.io", want: func(err error) bool { return err == nil },
		},
		"dependents cannot be read": {
			owners: owners{err: errors.New("no answer")}, deleted: &now,
			before: []string{orphan}, group: "apps.kruise.io", want: apierrors.IsInternalError,
		},
		"the finalizer stays": {
			owners: owners{dependents: []string{"a"}}, deleted: &now,
			before: []string{orphan, "example.com/x"}, after: []string{orphan}, group: "apps.kruise.io",
			want: func(err error) bool { return err == nil },
		},
		"the owner is not deleted": {
			owners: owners{dependents: []string{"a"}}, before: []string{orphan}, group: "apps.kruise.io",
			want: func(err error) bool { return err == nil },
		},
		"the owner is deleted with its dependents": {
			owners: owners{dependents: []string{"a"}}, deleted: &now, before: []string{"foregroundDeletion"}, group: "apps.kruise.io",
			want: func(err error) bool { return err == nil },
		},
		"the object is of another group": {
			owners: owners{dependents: []string{"a"}}, deleted: &now, before: []string{orphan}, group: "apps",
			want: func(err error) bool { return err == nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := func(finalizers []string) *metav1.PartialObjectMetadata {
				return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
					Namespace: "ns", Name: "web", UID: "1", DeletionTimestamp: test.deleted, Finalizers: finalizers,
				}}
			}
			version := schema.GroupVersion{Group: test.group, Version: "v1beta1"}
			p := New()
			p.SetKruiseOwners(test.owners)
			err := p.Validate(t.Context(), admission.NewAttributesRecord(object(test.after), object(test.before),
				version.WithKind("UnitedDeployment"), "ns", "web", version.WithResource("uniteddeployments"), "", admission.Update,
				&metav1.UpdateOptions{}, false, &user.DefaultInfo{Name: collector}), nil)
			assert.True(t, test.want(err), "%v", err)
		})
	}
}
