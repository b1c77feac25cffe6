package uniteddeployment

import (
	"bytes"
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/workload/engine"
	"kruise.io/kruise/pkg/workload/history"
)

// templates are the revisions of a UnitedDeployment: they store the whole template of its workloads.
var templates = history.Format{HashLabel: pub.ControllerRevisionDataHashKey, Hash: history.DataHash, Same: sameTemplate}

// decoder reads the data of revisions in each version, as the API server reads a UnitedDeployment. scheme has the conversions.
var (
	scheme  = newScheme()
	decoder = serializer.NewCodecFactory(scheme).UniversalDecoder(apps.SchemeGroupVersion)
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apps.AddToScheme, v1beta1.AddToScheme, v1alpha1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// unnamed are the versions that data can have if nothing names one, the more likely one first: OpenKruise up to release 1.9 wrote
// v1alpha1, and later releases v1beta1.
var unnamed = []schema.GroupVersion{v1alpha1.SchemeGroupVersion, v1beta1.SchemeGroupVersion}

// versionsOf returns the versions that the data of a revision can have, the most likely one first.
func versionsOf(revision *appsv1.ControllerRevision) []schema.GroupVersion {
	if version := revision.Annotations[pub.RevisionDataVersionKey]; version != "" {
		return []schema.GroupVersion{{Group: kind.Group, Version: version}}
	}
	return unnamed
}

// templateOf returns the template that a revision stores, read as its most likely version.
func templateOf(revision *appsv1.ControllerRevision) (*v1beta1.SubsetTemplate, error) {
	return readAs(versionsOf(revision)[0], revision.Data.Raw)
}

// readAs returns the template of data that has a version unless it names another one. The data has the form of a patch for the
// UnitedDeployment, with the template at spec.template. The template is converted as the API server converts it, so it has the same form
// as one that was read from the API, whatever version the data has.
func readAs(version schema.GroupVersion, data []byte) (*v1beta1.SubsetTemplate, error) {
	hub, _, err := decoder.Decode(data, new(version.WithKind(kind.Kind)), nil)
	if err != nil {
		return nil, fmt.Errorf("decode revision: %w", err)
	}
	stored := &v1beta1.UnitedDeployment{}
	if err := scheme.Convert(hub, stored, nil); err != nil {
		return nil, fmt.Errorf("convert revision: %w", err)
	}
	return &stored.Spec.Template, nil
}

// sameTemplate reports whether two revisions store the same template. Data without a template equals only identical data. So data of an
// unknown form never counts as the template of now. The comparison is semantic: another encoding or version of the same template does
// not start an update. Data that does not name its version is the same if it is so in one of them, because a needless update restarts
// Pods.
func sameTemplate(a, b *appsv1.ControllerRevision) bool {
	if bytes.Equal(a.Data.Raw, b.Data.Raw) {
		return true
	}
	for _, versionA := range versionsOf(a) {
		for _, versionB := range versionsOf(b) {
			templateA, errA := readAs(versionA, a.Data.Raw)
			templateB, errB := readAs(versionB, b.Data.Raw)
			if errA == nil && errB == nil && *templateA != (v1beta1.SubsetTemplate{}) && apiequality.Semantic.DeepEqual(templateA, templateB) {
				return true
			}
		}
	}
	return false
}

// dataOf returns what a revision stores of the template, and the version whose form it has. The form is that of OpenKruise: without
// apiVersion and kind, in the version that OpenKruise stores, and with claims as users write them. An annotation of the revision names the
// version, because an empty field can mean another value in another version.
func dataOf(united *v1beta1.UnitedDeployment) (data []byte, version string, err error) {
	hub, shown := &apps.UnitedDeployment{}, &v1alpha1.UnitedDeployment{}
	if err := scheme.Convert(united, hub, nil); err != nil {
		return nil, "", fmt.Errorf("convert UnitedDeployment: %w", err)
	}
	if err := scheme.Convert(hub, shown, nil); err != nil {
		return nil, "", fmt.Errorf("convert UnitedDeployment: %w", err)
	}
	template := &shown.Spec.Template
	if set := template.StatefulSetTemplate; set != nil {
		set.Spec.VolumeClaimTemplates = apps.ClaimsToHub(set.Spec.VolumeClaimTemplates)
	}
	if set := template.AdvancedStatefulSetTemplate; set != nil {
		set.Spec.VolumeClaimTemplates = apps.ClaimsToHub(set.Spec.VolumeClaimTemplates)
	}
	if set := template.CloneSetTemplate; set != nil {
		set.Spec.VolumeClaimTemplates = apps.ClaimsToHub(set.Spec.VolumeClaimTemplates)
	}
	data, err = history.Data(template)
	return data, v1alpha1.FormOfCloneSetTemplate(v1alpha1.SchemeGroupVersion.Version, hub), err
}

// labelOf returns the label of the workloads and Pods of a revision: its name, or its hash if the name is too long for a label. A label
// value has at most 63 characters, a name up to 253.
func labelOf(revision string) string {
	if len(revision) > validation.LabelValueMaxLength {
		return history.ShortHash(revision)
	}
	return revision
}

// register makes the revision of the template the newest one. It returns all revisions, oldest first, and the collision count. A
// template that was used before gets its old revision back with a higher number, so a rollback finds the same label. The selector
// labels are on the revision, so that a later UnitedDeployment can find and adopt it.
func (r *Reconciler) register(ctx context.Context, united *v1beta1.UnitedDeployment) ([]*appsv1.ControllerRevision, *int32, error) {
	collisions := united.Status.CollisionCount
	all, err := r.revisions(united)
	if err != nil {
		return nil, collisions, err
	}
	adopted, err := r.adoptRevisions(ctx, united)
	if err != nil {
		return nil, collisions, err
	}
	all = append(all, adopted...)
	data, version, err := dataOf(united)
	if err != nil {
		return nil, collisions, err
	}
	content := &history.Content{
		Data: data, Annotations: with(united.Annotations, map[string]string{pub.RevisionDataVersionKey: version}),
	}
	if united.Spec.Selector != nil {
		content.Labels = united.Spec.Selector.MatchLabels
	}
	revisions := &engine.Register{Server: r.server, Guard: r.guard, Format: &templates, Kind: kind}
	return revisions.Newest(ctx, united, all, content, collisions)
}

// trim deletes the oldest revisions beyond the limit that nothing uses. A revision that a workload names must stay: before builds the
// workload from it. p.children has the labels from before this pass, so a revision that was replaced now stays until a later pass.
func (r *Reconciler) trim(ctx context.Context, p *pass, current string) error {
	used := map[string]bool{current: true, p.update.Name: true}
	for _, child := range p.children {
		used[child.GetLabels()[pub.KruiseControllerRevisionHashKey]] = true
	}
	live := func(revision *appsv1.ControllerRevision) bool {
		return used[revision.Name] || used[labelOf(revision.Name)]
	}
	for _, revision := range history.Trim(p.revisions, live, int(ptr.Deref(p.united.Spec.RevisionHistoryLimit, 10))) {
		if err := r.server.DeleteRevision(ctx, revision); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete revision %s: %w", revision.Name, err)
		}
		r.guard.Deleted(p.united.UID, engine.RevisionResource.GroupResource(), revision)
	}
	return nil
}
