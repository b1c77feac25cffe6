package workloadtarget

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	kruisefake "kruise.io/kruise/pkg/generated/clientset/versioned/fake"
)

func target(apiVersion, kind, name string) *apps.TargetReference {
	return &apps.TargetReference{APIVersion: apiVersion, Kind: kind, Name: name}
}

func spread(of *apps.TargetReference, patches ...string) *apps.WorkloadSpread {
	spread := &apps.WorkloadSpread{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns"}, Spec: apps.WorkloadSpreadSpec{TargetRef: of}}
	for _, patch := range patches {
		spread.Spec.Subsets = append(spread.Spec.Subsets, apps.WorkloadSpreadSubset{Patch: &runtime.RawExtension{Raw: []byte(patch)}})
	}
	return spread
}

func state(of *apps.TargetReference) *apps.PersistentPodState {
	return &apps.PersistentPodState{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns"},
		Spec:       apps.PersistentPodStateSpec{TargetRef: *of},
	}
}

// stored returns existing objects, each with a target.
func stored() []runtime.Object {
	first := metav1.ObjectMeta{Name: "first", Namespace: "ns"}
	theirs := v1beta1.TargetReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "taken"}
	own := metav1.ObjectMeta{Name: "demo", Namespace: "ns"}
	ofOwn := v1beta1.TargetReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "own"}
	return []runtime.Object{
		&v1beta1.WorkloadSpread{ObjectMeta: first, Spec: v1beta1.WorkloadSpreadSpec{TargetRef: &theirs}},
		&v1beta1.PersistentPodState{ObjectMeta: first, Spec: v1beta1.PersistentPodStateSpec{TargetRef: theirs}},
		&v1beta1.WorkloadSpread{ObjectMeta: own, Spec: v1beta1.WorkloadSpreadSpec{TargetRef: &ofOwn}},
		&v1beta1.PersistentPodState{ObjectMeta: own, Spec: v1beta1.PersistentPodStateSpec{TargetRef: ofOwn}},
		&v1beta1.WorkloadSpread{
			ObjectMeta: metav1.ObjectMeta{Name: "elsewhere", Namespace: "other"},
			Spec:       v1beta1.WorkloadSpreadSpec{TargetRef: &v1beta1.TargetReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "free"}},
		},
	}
}

func config(values map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kruise-configuration", Namespace: "kruise-system"}, Data: values}
}

func newPlugin(t *testing.T, host ...runtime.Object) *Plugin {
	t.Helper()
	plugin := New()
	require.Error(t, plugin.ValidateInitialization())
	plugin.SetExternalKubeClientSet(fake.NewClientset(host...))
	plugin.SetKruiseClientSet(kruisefake.NewClientset(stored()...))
	plugin.SetOwnNamespace("kruise-system")
	require.NoError(t, plugin.ValidateInitialization())
	return plugin
}

func attributes(obj, old runtime.Object, kind, subresource string) admission.Attributes {
	operation := admission.Create
	if old != nil {
		operation = admission.Update
	}
	return admission.NewAttributesRecord(obj, old, apps.Kind(kind).WithVersion("v1alpha1"), "ns", "demo",
		apps.Resource("any").WithVersion("v1alpha1"), subresource, operation, nil, false, nil)
}

// Case workloadspread 5.
func TestTargets(t *testing.T) {
	lists := map[string]string{
		"WorkloadSpread_Watch_Custom_Workload_WhiteList": `{"workloads":[{"group":"example.com","kind":"Game","replicasPath":"spec.replicas"}]}`,
		"PPS_Watch_Custom_Workload_WhiteList":            `{"workloads":[{"Group":"example.com","Version":"v1","Kind":"Room"}]}`,
	}
	tests := map[string]struct {
		target        *apps.TargetReference
		config        map[string]string
		spread, state string
	}{
		"Deployment": {
			target: target("apps/v1", "Deployment", "a"), state: "must be one of StatefulSet.apps, StatefulSet.apps.kruise.io",
		},
		"ReplicaSet":           {target: target("apps/v1", "ReplicaSet", "a"), state: "must be one of"},
		"StatefulSet":          {target: target("apps/v1", "StatefulSet", "a")},
		"Job":                  {target: target("batch/v1", "Job", "a"), state: "must be one of"},
		"CloneSet":             {target: target("apps.kruise.io/v1alpha1", "CloneSet", "a"), state: "must be one of"},
		"Advanced StatefulSet": {target: target("apps.kruise.io/v1beta1", "StatefulSet", "a")},
		"unknown kind": {
			target: target("apps/v1", "DaemonSet", "a"), spread: "TargetReference's GroupKind is not permitted: must be one of Deployment.apps",
			state: "must be one of",
		},
		"kind of another group": {target: target("example.com/v1", "Deployment", "a"), spread: "must be one of", state: "must be one of"},
		"taken": {
			target: target("apps/v1", "StatefulSet", "taken"), spread: "targetRef is in conflict with other WorkloadSpread first, which",
			state: "targetRef is in conflict with other PersistentPodState first, which",
		},
		"taken, by its version": {
			target: target("apps/v1beta2", "StatefulSet", "taken"), spread: "first, which already has this target", state: "first, which already has this target",
		},
		"another group's":      {target: target("apps.kruise.io/v1beta1", "StatefulSet", "taken")},
		"in another namespace": {target: target("apps/v1", "StatefulSet", "free")},
		"by one of its name":   {target: target("apps/v1", "StatefulSet", "own")},
		"allowed for one": {
			target: target("example.com/v2", "Game", "a"), config: lists,
			state: "must be one of StatefulSet.apps, StatefulSet.apps.kruise.io, Room.example.com",
		},
		"allowed for the other": {target: target("example.com/v1", "Room", "a"), config: lists, spread: "must be one of"},
		"the list cannot be read": {
			target: target("example.com/v1", "Game", "a"), config: map[string]string{"WorkloadSpread_Watch_Custom_Workload_WhiteList": "{"},
			spread: "cannot be read (ConfigMap kruise-system/kruise-configuration", state: "must be one of",
		},
		"the list is not needed": {
			target: target("apps/v1", "StatefulSet", "a"), config: map[string]string{"PPS_Watch_Custom_Workload_WhiteList": "{"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plugin := newPlugin(t)
			if test.config != nil {
				plugin = newPlugin(t, config(test.config))
			}
			requireInvalid(t, test.spread, plugin.Validate(t.Context(), attributes(spread(test.target), nil, "WorkloadSpread", ""), nil))
			requireInvalid(t, test.state, plugin.Validate(t.Context(), attributes(state(test.target), nil, "PersistentPodState", ""), nil))
		})
	}
}

func requireInvalid(t *testing.T, want string, err error) {
	t.Helper()
	if want == "" {
		require.NoError(t, err)
		return
	}
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.ErrorContains(t, err, want)
}

// Updates cannot change the target, so the plugin does not check it.
func TestUpdatesAreNotJudgedByTheirTarget(t *testing.T) {
	plugin := newPlugin(t)
	taken := target("apps/v1", "StatefulSet", "taken")
	require.NoError(t, plugin.Validate(t.Context(), attributes(spread(taken), spread(taken), "WorkloadSpread", ""), nil))
	require.NoError(t, plugin.Validate(t.Context(), attributes(state(taken), state(taken), "PersistentPodState", ""), nil))
	require.NoError(t, plugin.Validate(t.Context(), attributes(spread(taken), nil, "WorkloadSpread", "status"), nil))
	require.NoError(t, plugin.Validate(t.Context(), attributes(&apps.CloneSet{}, nil, "CloneSet", ""), nil), "another kind")
}

func TestPatches(t *testing.T) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "demo:v1"}}}}
	broken := corev1.PodTemplateSpec{}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "ns"} }
	host := []runtime.Object{
		&appsv1.Deployment{ObjectMeta: meta("a"), Spec: appsv1.DeploymentSpec{Template: template}},
		&appsv1.ReplicaSet{ObjectMeta: meta("a"), Spec: appsv1.ReplicaSetSpec{Template: template}},
		&appsv1.StatefulSet{ObjectMeta: meta("a"), Spec: appsv1.StatefulSetSpec{Template: template}},
		&batchv1.Job{ObjectMeta: meta("a"), Spec: batchv1.JobSpec{Template: template}},
		&appsv1.Deployment{ObjectMeta: meta("broken"), Spec: appsv1.DeploymentSpec{Template: broken}},
	}
	mounting := *template.DeepCopy()
	mounting.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "own", MountPath: "/own"}}
	mounting.Spec.Volumes = []corev1.Volume{{Name: "data"}, {Name: "own"}}
	claims := []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	host = append(host, &appsv1.StatefulSet{
		ObjectMeta: meta("claims"), Spec: appsv1.StatefulSetSpec{Template: mounting, VolumeClaimTemplates: claims},
	})
	mounting = *mounting.DeepCopy()
	mounting.Spec.Volumes = mounting.Spec.Volumes[1:]
	kruise := append(stored(),
		&v1beta1.CloneSet{ObjectMeta: meta("claims"), Spec: v1beta1.CloneSetSpec{Template: mounting, VolumeClaimTemplates: claims}},
		&v1beta1.StatefulSet{ObjectMeta: meta("claims"), Spec: v1beta1.StatefulSetSpec{Template: mounting, VolumeClaimTemplates: claims}},
		&v1beta1.CloneSet{ObjectMeta: meta("a"), Spec: v1beta1.CloneSetSpec{Template: template}},
		&v1beta1.StatefulSet{ObjectMeta: meta("a"), Spec: v1beta1.StatefulSetSpec{Template: template}},
	)
	const (
		good = `{"metadata":{"labels":{"subset":"a"}},"spec":{"containers":[{"name":"main","env":[{"name":"A","value":"B"}]}]}}`
		bad  = `{"spec":{"containers":[{"name":"main","imagePullPolicy":"Sometimes"}]}}`
		more = `{"spec":{"containers":[{"name":"more"}]}}`
	)
	tests := map[string]struct {
		obj, old *apps.WorkloadSpread
		want     string
	}{
		"good": {obj: spread(target("apps/v1", "Deployment", "a"), good, "{}")},
		"of a Deployment": {
			obj: spread(target("apps/v1", "Deployment", "a"), good, bad), want: "spec.subsets[1].patch.spec.containers[0].imagePullPolicy",
		},
		"of a ReplicaSet":         {obj: spread(target("apps/v1", "ReplicaSet", "a"), bad), want: "spec.subsets[0].patch.spec"},
		"of a StatefulSet":        {obj: spread(target("apps/v1", "StatefulSet", "a"), bad), want: "spec.subsets[0].patch.spec"},
		"of a Job":                {obj: spread(target("batch/v1", "Job", "a"), bad), want: "spec.subsets[0].patch.spec"},
		"of a CloneSet":           {obj: spread(target("apps.kruise.io/v1beta1", "CloneSet", "a"), bad), want: "spec.subsets[0].patch.spec"},
		"of an Advanced one":      {obj: spread(target("apps.kruise.io/v1beta1", "StatefulSet", "a"), bad), want: "spec.subsets[0].patch.spec"},
		"container without image": {obj: spread(target("apps/v1", "Deployment", "a"), more), want: "spec.subsets[0].patch.spec.containers"},
		"beside claims of a StatefulSet": {
			obj: spread(target("apps/v1", "StatefulSet", "claims"), good, bad), want: "spec.subsets[1].patch.spec.containers[0].imagePullPolicy",
		},
		"beside claims of a CloneSet": {
			obj: spread(target("apps.kruise.io/v1beta1", "CloneSet", "claims"), good, bad), want: "spec.subsets[1].patch.spec.containers[0].imagePullPolicy",
		},
		"beside claims of an Advanced one": {
			obj: spread(target("apps.kruise.io/v1beta1", "StatefulSet", "claims"), good, bad), want: "spec.subsets[1].patch.spec.containers[0].imagePullPolicy",
		},
		"mounts a claim":           {obj: spread(target("apps/v1", "StatefulSet", "claims"), mounts("data"))},
		"mounts what is not there": {obj: spread(target("apps/v1", "StatefulSet", "claims"), mounts("more")), want: "patch.spec.containers[0].volumeMounts"},
		"no workload yet":          {obj: spread(target("apps/v1", "Deployment", "later"), bad)},
		"workload broken already":  {obj: spread(target("apps/v1", "Deployment", "broken"), bad)},
		"without a patch":          {obj: withoutPatch(target("apps/v1", "Deployment", "a"))},
		"without a target": {
			obj: spread(nil, bad), old: spread(target("apps/v1", "Deployment", "a"), good),
		},
		"without a target, created": {obj: spread(nil, bad)},
		"as it was": {
			obj: spread(target("apps/v1", "Deployment", "a"), bad), old: spread(target("apps/v1", "Deployment", "a"), "{}", bad),
		},
		"new on update": {
			obj: spread(target("apps/v1", "Deployment", "a"), bad), old: spread(target("apps/v1", "Deployment", "a"), good),
			want: "spec.subsets[0].patch.spec",
		},
		"no merge": {obj: spread(target("apps/v1", "Deployment", "a"), `{"spec":{"containers":{}}}`), want: "cannot be merged"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plugin := newPlugin(t, host...)
			plugin.SetKruiseClientSet(kruisefake.NewClientset(kruise...))
			var old runtime.Object
			if test.old != nil {
				old = test.old
			}
			requireInvalid(t, test.want, plugin.Validate(t.Context(), attributes(test.obj, old, "WorkloadSpread", ""), nil))
		})
	}
}

// A workload releases a Pod that its selector does not match, and creates another.
func TestPatchKeepsTheLabelsOfTheSelector(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "a", Namespace: "ns"}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "demo:v1"}}},
	}
	const (
		other   = `{"metadata":{"labels":{"app":"web-b"}}}`
		removed = `{"metadata":{"labels":{"app":null}}}`
		same    = `{"metadata":{"labels":{"app":"web","subset":"b"}}}`
	)
	host := []runtime.Object{
		&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Template: template, Selector: selector}},
		&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Template: template, Selector: selector}},
		&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Template: template, Selector: selector}},
		&batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: template, Selector: selector}},
	}
	kruise := append(stored(),
		&v1beta1.CloneSet{ObjectMeta: meta, Spec: v1beta1.CloneSetSpec{Template: template, Selector: selector}},
		&v1beta1.StatefulSet{ObjectMeta: meta, Spec: v1beta1.StatefulSetSpec{Template: template, Selector: selector}},
		&v1beta1.CloneSet{
			ObjectMeta: metav1.ObjectMeta{Name: "unmatched", Namespace: "ns"},
			Spec:       v1beta1.CloneSetSpec{Template: template, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}},
		},
	)
	const want = `spec.subsets[1].patch.metadata.labels: Invalid value: "app=web-b": the labels of new Pods would no longer match ` +
		`the selector "app=web" of the workload; leave these labels out of the patch`
	tests := map[string]struct {
		obj  *apps.WorkloadSpread
		want string
	}{
		"of a CloneSet":      {spread(target("apps.kruise.io/v1beta1", "CloneSet", "a"), same, other), want},
		"of an Advanced one": {spread(target("apps.kruise.io/v1beta1", "StatefulSet", "a"), same, other), want},
		"of a Deployment":    {spread(target("apps/v1", "Deployment", "a"), same, other), want},
		"of a ReplicaSet":    {spread(target("apps/v1", "ReplicaSet", "a"), same, other), want},
		"of a StatefulSet":   {spread(target("apps/v1", "StatefulSet", "a"), same, other), want},
		"of a Job":           {spread(target("batch/v1", "Job", "a"), same, other), want},
		"removed":            {spread(target("apps.kruise.io/v1beta1", "CloneSet", "a"), removed), "spec.subsets[0].patch.metadata.labels"},
		"kept":               {spread(target("apps.kruise.io/v1beta1", "CloneSet", "a"), same), ""},
		"unmatched before":   {spread(target("apps.kruise.io/v1beta1", "CloneSet", "unmatched"), other), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plugin := newPlugin(t, host...)
			plugin.SetKruiseClientSet(kruisefake.NewClientset(kruise...))
			requireInvalid(t, test.want, plugin.Validate(t.Context(), attributes(test.obj, nil, "WorkloadSpread", ""), nil))
		})
	}
}

func withoutPatch(of *apps.TargetReference) *apps.WorkloadSpread {
	result := spread(of, "{}")
	result.Spec.Subsets[0].Patch = nil
	return result
}

// mounts returns a patch that adds a mount of a volume.
func mounts(volume string) string {
	return `{"spec":{"containers":[{"name":"main","volumeMounts":[{"name":"` + volume + `","mountPath":"/more"}]}]}}`
}

func TestUnansweredReadsRefuse(t *testing.T) {
	fail := func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no route to host")
	}
	for name, test := range map[string]struct{ verb, resource string }{
		"workload":  {"get", "deployments"},
		"config":    {"get", "configmaps"},
		"conflicts": {"list", "workloadspreads"},
		"states":    {"list", "persistentpodstates"},
	} {
		t.Run(name, func(t *testing.T) {
			host, kruise := fake.NewClientset(), kruisefake.NewClientset()
			host.PrependReactor(test.verb, test.resource, fail)
			kruise.PrependReactor(test.verb, test.resource, fail)
			plugin := newPlugin(t)
			plugin.SetExternalKubeClientSet(host)
			plugin.SetKruiseClientSet(kruise)
			object := spread(target("apps/v1", "Deployment", "a"), "{}")
			if name == "config" {
				object = spread(target("example.com/v1", "Game", "a"))
			}
			err := plugin.Validate(t.Context(), attributes(object, nil, "WorkloadSpread", ""), nil)
			if name == "states" {
				err = plugin.Validate(t.Context(), attributes(state(target("apps/v1", "StatefulSet", "a")), nil, "PersistentPodState", ""), nil)
			}
			require.True(t, apierrors.IsInternalError(err), "%v", err)
			assert.ErrorContains(t, err, "no route to host")
		})
	}
}
