package pod

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/warning"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/workload/sidecar"
)

type setEdit func(*v1beta1.SidecarSet)

// newSet returns a SidecarSet for Pods with the label app=web. Each container is injected before those of the Pod.
func newSet(name string, containers []string, edits ...setEdit) *v1beta1.SidecarSet {
	set := &v1beta1.SidecarSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1, Annotations: map[string]string{
			"kruise.io/sidecarset-hash": "hash-" + name, "kruise.io/sidecarset-hash-without-image": "rest-" + name,
		}},
		Spec:   v1beta1.SidecarSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status: v1beta1.SidecarSetStatus{ObservedGeneration: 1, LatestRevision: name + "-1"},
	}
	for _, container := range containers {
		set.Spec.Containers = append(set.Spec.Containers, newSidecar(container, v1beta1.BeforeAppContainerType))
	}
	for _, edit := range edits {
		edit(set)
	}
	return set
}

func newSidecar(name string, place v1beta1.PodInjectPolicyType) v1beta1.SidecarContainer {
	return v1beta1.SidecarContainer{Container: corev1.Container{Name: name, Image: name + ":1"}, PodInjectPolicy: place}
}

// first edits the first container of a SidecarSet.
func first(edit func(*v1beta1.SidecarContainer)) setEdit {
	return func(set *v1beta1.SidecarSet) { edit(&set.Spec.Containers[0]) }
}

// inject creates a Pod in a world with the SidecarSets.
func inject(t *testing.T, pod *corev1.Pod, sets ...*v1beta1.SidecarSet) (*corev1.Pod, error) {
	t.Helper()
	return worldOf(t, "", nil, sets...).tryCreate(pod)
}

func worldOf(t *testing.T, gates string, host []runtime.Object, sets ...*v1beta1.SidecarSet) *world {
	t.Helper()
	w := newWorld(t, gates, host)
	for _, set := range sets {
		require.NoError(t, w.sidecars.sets.Add(set))
	}
	return w
}

func mustInject(t *testing.T, pod *corev1.Pod, sets ...*v1beta1.SidecarSet) *corev1.Pod {
	t.Helper()
	injected, err := inject(t, pod, sets...)
	require.NoError(t, err)
	return injected
}

func namesOf(containers []corev1.Container) (names []string) {
	for i := range containers {
		names = append(names, containers[i].Name)
	}
	return names
}

func envOf(container *corev1.Container) (env []string) {
	for _, variable := range container.Env {
		env = append(env, variable.Name+"="+variable.Value)
	}
	return env
}

func recordsOf(t *testing.T, pod *corev1.Pod, key string) sidecar.Records {
	t.Helper()
	records, err := sidecar.ReadRecords(pod.Annotations, key)
	require.NoError(t, err)
	return records
}

// Case sidecarset 1.
func TestInjectedContainerIsRecorded(t *testing.T) {
	pod := mustInject(t, newPod(), newSet("logs", []string{"s"}))
	assert.Equal(t, []string{"s", "main"}, namesOf(pod.Spec.Containers))
	assert.Equal(t, []string{"IS_INJECTED=true"}, envOf(&pod.Spec.Containers[0]))
	assert.Equal(t, "logs", pod.Annotations["kruise.io/sidecarset-injected-list"])
	assert.Equal(t, sidecar.Records{"logs": {
		UpdateTimestamp: metav1.NewTime(worldTime), Hash: "hash-logs", SidecarSetName: "logs", SidecarList: []string{"s"}, ControllerRevision: "logs-1",
	}}, utc(recordsOf(t, pod, "kruise.io/sidecarset-hash")))
	assert.JSONEq(t, `{"logs":{"updateTimestamp":"2026-01-01T12:00:00Z","hash":"rest-logs","sidecarSetName":"logs","sidecarList":["s"]}}`,
		pod.Annotations["kruise.io/sidecarset-hash-without-image"])
}

// Before the controller has observed a change, the Pod names the revision that the controller is going to write.
func TestPodNamesTheRevisionThatItHas(t *testing.T) {
	set := newSet("logs", []string{"s"}, func(set *v1beta1.SidecarSet) { set.Generation = 2 })
	data, err := sidecar.Data(&set.Spec)
	require.NoError(t, err)
	want := "logs-" + sidecar.Revisions.Hash(data, nil)
	assert.Equal(t, want, recordsOf(t, mustInject(t, newPod(), set), "kruise.io/sidecarset-hash")["logs"].ControllerRevision)
}

// The controller is going to use a stored revision with the same content again, whatever its name.
func TestPodNamesTheStoredRevisionWithItsContent(t *testing.T) {
	set := newSet("logs", []string{"s"}, func(set *v1beta1.SidecarSet) { set.Generation, set.UID = 2, "now" })
	deleted := set.DeepCopy()
	deleted.UID = "deleted"
	w := worldOf(t, "", nil, set)
	for _, stored := range []struct {
		owner       *v1beta1.SidecarSet
		name, image string
		number      int64
	}{{set, "logs-old", "s:1", 1}, {set, "logs-newest", "s:2", 2}, {deleted, "logs-deleted", "s:1", 3}} {
		revision := storedRevision(t, set, stored.name, stored.image, "", stored.number)
		revision.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(stored.owner, v1beta1.SchemeGroupVersion.WithKind("SidecarSet"))}
		require.NoError(t, w.sidecars.revisions.known.Add(revision))
	}
	assert.Equal(t, "logs-old", recordsOf(t, w.create(newPod()), "kruise.io/sidecarset-hash")["logs"].ControllerRevision)
}

// Cases sidecarset 2, 3, 4.
func TestPlacesOfContainers(t *testing.T) {
	after := first(func(c *v1beta1.SidecarContainer) { c.PodInjectPolicy = v1beta1.AfterAppContainerType })
	unset := first(func(c *v1beta1.SidecarContainer) { c.PodInjectPolicy = "" })
	tests := map[string]struct {
		own  []string
		sets []*v1beta1.SidecarSet
		want []string
	}{
		"by default, before":        {[]string{"main"}, []*v1beta1.SidecarSet{newSet("a", []string{"s"}, unset)}, []string{"s", "main"}},
		"after":                     {[]string{"main"}, []*v1beta1.SidecarSet{newSet("a", []string{"s"}, after)}, []string{"main", "s"}},
		"in place of the Pod's own": {[]string{"x", "s"}, []*v1beta1.SidecarSet{newSet("a", []string{"s"})}, []string{"x", "s"}},
		"in the order of the names": {
			[]string{"main"}, []*v1beta1.SidecarSet{newSet("b", []string{"z", "y"}), newSet("a", []string{"s"})}, []string{"s", "z", "y", "main"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod(func(p *corev1.Pod) {
				p.Spec.Containers = nil
				for _, own := range test.own {
					p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: own, Image: "own"})
				}
			})
			injected := mustInject(t, pod, test.sets...)
			assert.Equal(t, test.want, namesOf(injected.Spec.Containers))
			assert.Equal(t, "s:1", sidecar.Container(injected, "s").Image)
		})
	}
	sets := []*v1beta1.SidecarSet{newSet("b", []string{"z", "c"}), newSet("a", []string{"s"})}
	pod := worldOf(t, "EnableSortSidecarContainerByName=true", nil, sets...).create(newPod())
	assert.Equal(t, []string{"c", "s", "z", "main"}, namesOf(pod.Spec.Containers), "with the feature gate")
}

// The labels of a namespace can change so that two SidecarSets with the same container select a Pod. The second one is left out as a whole,
// because both would upgrade that container.
func TestSidecarSetWithATakenNameIsLeftOut(t *testing.T) {
	clash := newSet("b", []string{"t", "s"}, func(set *v1beta1.SidecarSet) { set.Spec.Containers[1].Image = "other" })
	pod := mustInject(t, newPod(), clash, newSet("a", []string{"s"}), newSet("c", []string{"u"}))
	assert.Equal(t, []string{"s", "u", "main"}, namesOf(pod.Spec.Containers))
	assert.Equal(t, "s:1", sidecar.Container(pod, "s").Image)
	assert.Equal(t, []string{"a", "c"}, sidecar.InjectedSets(pod))
	assert.NotContains(t, recordsOf(t, pod, "kruise.io/sidecarset-hash"), "b")
}

// Init containers are sorted by name, and placed before or after those of the Pod.
// Case sidecarset 34.
func TestInitContainers(t *testing.T) {
	native := newSidecar("mesh", v1beta1.AfterAppContainerType)
	native.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	set := newSet("a", nil, func(set *v1beta1.SidecarSet) {
		set.Spec.InitContainers = []v1beta1.SidecarContainer{
			newSidecar("z", v1beta1.AfterAppContainerType), native, newSidecar("early", v1beta1.BeforeAppContainerType),
		}
	})
	pod := mustInject(t, newPod(func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "own"}}
	}), set)
	assert.Equal(t, []string{"early", "own", "mesh", "z"}, namesOf(pod.Spec.InitContainers))
	assert.Equal(t, []string{"main"}, namesOf(pod.Spec.Containers))
	assert.Equal(t, "a", pod.Annotations["kruise.io/sidecarset-injected-list"])
	assert.Equal(t, []string{"mesh"}, recordsOf(t, pod, "kruise.io/sidecarset-hash")["a"].SidecarList)
	assert.Equal(t, []string{"early", "mesh", "z"}, namesOf(mustInject(t, newPod(), set).Spec.InitContainers), "no init container of its own")
}

// Cases sidecarset 5, 40.
func TestOnlyVolumesInUseAreAdded(t *testing.T) {
	token := corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}},
	}}}
	set := newSet("a", []string{"s"}, func(set *v1beta1.SidecarSet) {
		set.Spec.Volumes = []corev1.Volume{{Name: "v1"}, {Name: "v2"}, token}
		set.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v1", MountPath: "/v1"}, {Name: "token", MountPath: "/token"}}
		set.Spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{{Name: "unknown", DevicePath: "/dev/x"}}
		set.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "own"}, {Name: "more"}}
	})
	own := corev1.Volume{Name: "v1", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory"}}}
	pod := mustInject(t, newPod(func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{own}
		p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "own"}, {Name: "own"}}
	}), set)
	assert.Equal(t, []corev1.Volume{own, token}, pod.Spec.Volumes)
	assert.Equal(t, []corev1.LocalObjectReference{{Name: "own"}, {Name: "more"}}, pod.Spec.ImagePullSecrets)
	assert.Equal(t, []corev1.Volume{{Name: "v1"}, token}, mustInject(t, newPod(), set).Spec.Volumes)
}

// Case sidecarset 6.
func TestSharedVolumesAndDevices(t *testing.T) {
	name := corev1.EnvVar{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}
	app := newPod(func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = []corev1.EnvVar{name}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{
			{Name: "d", MountPath: "/data", SubPathExpr: "x/$(POD_NAME)/$(MISSING)"}, {Name: "e", MountPath: "/dev/own"},
		}
		p.Spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{{Name: "b", DevicePath: "/dev/b"}, {Name: "o", DevicePath: "/dev/own"}}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: "other", Env: []corev1.EnvVar{{Name: "IS_INJECTED", Value: "true"}}, VolumeMounts: []corev1.VolumeMount{{Name: "x", MountPath: "/x"}},
		})
	})
	share := first(func(c *v1beta1.SidecarContainer) {
		c.ShareVolumePolicy.Type = v1beta1.ShareVolumePolicyEnabled
		c.ShareVolumeDevicePolicy = &v1beta1.ShareVolumePolicy{Type: v1beta1.ShareVolumePolicyEnabled}
	})
	s := sidecar.Container(mustInject(t, app, newSet("a", []string{"s"}, share)), "s")
	assert.Equal(t, app.Spec.Containers[0].VolumeMounts, s.VolumeMounts, "not those of other sidecars")
	assert.Equal(t, []corev1.VolumeDevice{{Name: "b", DevicePath: "/dev/b"}}, s.VolumeDevices, "a path is used once")
	assert.Equal(t, []corev1.EnvVar{{Name: "IS_INJECTED", Value: "true"}, name}, s.Env)

	own := corev1.VolumeMount{Name: "mine", MountPath: "/data"}
	s = sidecar.Container(mustInject(t, app, newSet("a", []string{"s"}, share, first(func(c *v1beta1.SidecarContainer) {
		c.VolumeMounts = []corev1.VolumeMount{own}
	}))), "s")
	assert.Equal(t, []corev1.VolumeMount{own, {Name: "e", MountPath: "/dev/own"}}, s.VolumeMounts)
	assert.Equal(t, []string{"IS_INJECTED=true"}, envOf(s))
	assert.Empty(t, sidecar.Container(mustInject(t, app, newSet("a", []string{"s"})), "s").VolumeMounts, "by default nothing is shared")
}

// Cases sidecarset 7, 8.
func TestTransferredEnvironment(t *testing.T) {
	from := func(path string) *v1beta1.SourceContainerNameSource {
		return &v1beta1.SourceContainerNameSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
	}
	tests := map[string]struct {
		transfer v1beta1.TransferEnvVar
		own      []corev1.EnvVar
		want     []string
	}{
		"sorted, and none that is missing": {
			transfer: v1beta1.TransferEnvVar{SourceContainerName: "main", EnvNames: []string{"B", "A", "missing"}, EnvName: "A"},
			want:     []string{"IS_INJECTED=true", "A=1", "B=2"},
		},
		"its own comes first": {
			transfer: v1beta1.TransferEnvVar{SourceContainerName: "main", EnvName: "A"}, own: []corev1.EnvVar{{Name: "A", Value: "own"}},
			want: []string{"A=own", "IS_INJECTED=true"},
		},
		"named by a label": {
			transfer: v1beta1.TransferEnvVar{SourceContainerName: "none", SourceContainerNameFrom: from("metadata.labels['biz']"), EnvName: "A"},
			want:     []string{"IS_INJECTED=true", "A=1"},
		},
		"named by an annotation": {
			transfer: v1beta1.TransferEnvVar{SourceContainerNameFrom: from("metadata.annotations['a/biz']"), EnvName: "B"},
			want:     []string{"IS_INJECTED=true", "B=2"},
		},
		"the label is missing": {
			transfer: v1beta1.TransferEnvVar{SourceContainerName: "main", SourceContainerNameFrom: from("metadata.labels['no']"), EnvName: "A"},
			want:     []string{"IS_INJECTED=true"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod(func(p *corev1.Pod) {
				p.Labels["biz"], p.Annotations = "main", map[string]string{"a/biz": "main"}
				p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}
			})
			set := newSet("a", []string{"s"}, first(func(c *v1beta1.SidecarContainer) {
				c.Env, c.TransferEnv = test.own, []v1beta1.TransferEnvVar{test.transfer}
			}))
			assert.Equal(t, test.want, envOf(sidecar.Container(mustInject(t, pod, set), "s")))
		})
	}
}

// Cases sidecarset 9, 10, 32, 38.
func TestWhichPodsAreInjected(t *testing.T) {
	namespaces := func(key, value string) setEdit {
		return func(set *v1beta1.SidecarSet) {
			set.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		}
	}
	in := func(names ...string) setEdit {
		return func(set *v1beta1.SidecarSet) {
			set.Spec.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: names},
			}}
		}
	}
	selecting := func(selector *metav1.LabelSelector) setEdit {
		return func(set *v1beta1.SidecarSet) { set.Spec.Selector = selector }
	}
	tests := map[string]struct {
		set    setEdit
		pod    func(*corev1.Pod)
		absent bool
		want   bool
	}{
		"its labels match":                     {want: true},
		"they do not":                          {set: selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}})},
		"an empty selector":                    {set: selecting(&metav1.LabelSelector{})},
		"no selector":                          {set: selecting(nil)},
		"negative requirements alone":          {set: selecting(notIn("app", "db")), want: true},
		"the namespace by name":                {set: namespaces("kubernetes.io/metadata.name", "ns"), want: true},
		"one of several namespaces":            {set: in("a", "ns", "ns"), want: true},
		"other namespaces":                     {set: in("a", "b")},
		"another namespace":                    {set: namespaces("kubernetes.io/metadata.name", "ns2")},
		"the namespace by label":               {set: namespaces("env", "prod"), want: true},
		"another label of namespaces":          {set: namespaces("env", "test")},
		"the namespace does not exist":         {set: namespaces("env", "prod"), absent: true},
		"the SidecarSet is paused":             {set: func(set *v1beta1.SidecarSet) { set.Spec.InjectionStrategy.Paused = true }},
		"only its upgrades are paused":         {set: func(set *v1beta1.SidecarSet) { set.Spec.UpdateStrategy.Paused = true }, want: true},
		"a Pod that has ended":                 {pod: func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }},
		"a Pod that is being deleted":          {pod: func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: worldTime} }},
		"a copy of a static Pod":               {pod: func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }},
		"a Pod without a namespace of its own": {pod: func(p *corev1.Pod) { p.Namespace = "" }, set: namespaces("env", "prod"), want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			set := newSet("a", []string{"s"})
			if test.set != nil {
				test.set(set)
			}
			var host []runtime.Object
			if !test.absent {
				host = append(host, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: map[string]string{
					"kubernetes.io/metadata.name": "ns", "env": "prod",
				}}})
			}
			pod := newPod()
			if test.pod != nil {
				test.pod(pod)
			}
			assert.Equal(t, test.want, sidecar.Container(worldOf(t, "", host, set).create(pod), "s") != nil)
		})
	}
}

// The labels of the namespace changed a moment ago, and the cache does not show it yet. If the server does not answer, the cache decides.
// Case sidecarset 38.
func TestLabelsOfTheNamespaceAreRead(t *testing.T) {
	prod := func(set *v1beta1.SidecarSet) {
		set.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	}
	for name, test := range map[string]struct {
		stored, cached string
		fails          error
		want           bool
	}{
		"just labelled":              {"prod", "", nil, true},
		"just unlabelled":            {"", "prod", nil, false},
		"the server does not answer": {"", "prod", apierrors.NewServiceUnavailable("down"), true},
	} {
		t.Run(name, func(t *testing.T) {
			labelled := func(env string) *corev1.Namespace {
				return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: map[string]string{"env": env}}}
			}
			w := worldOf(t, "", []runtime.Object{labelled(test.stored)}, newSet("a", []string{"s"}, prod))
			require.NoError(t, w.informers.Core().V1().Namespaces().Informer().GetIndexer().Add(labelled(test.cached)))
			w.host.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) { return test.fails != nil, nil, test.fails })
			assert.Equal(t, test.want, sidecar.Container(w.create(newPod()), "s") != nil)
		})
	}
}

// Another server has answered a write of a SidecarSet that the cache does not show in time. A namespace that accepts no Pod without what
// concerns it gets none, and another one gets what the cache shows.
// Cases pod-admission 17, 21b.
func TestPodsWaitForTheCacheOfSidecarSets(t *testing.T) {
	behind := apierrors.NewServiceUnavailable("the cache of SidecarSets is behind the store")
	for name, test := range map[string]struct {
		policy string
		behind error
		fails  bool
	}{
		"in time": {"Fail", nil, false}, "behind": {"", behind, false}, "behind, and Fail": {"Fail", behind, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, "", []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: "ns", Labels: map[string]string{"admission.kruise.io/pod-failure-policy": test.policy},
			}}}, newSet("a", []string{"s"}))
			asked := 0
			w.SetCurrentSidecarSets(func(context.Context) error {
				asked++
				return test.behind
			})
			pod, err := w.tryCreate(newPod())
			assert.NotZero(t, asked)
			if test.fails {
				require.ErrorIs(t, err, behind)
				return
			}
			require.NoError(t, err)
			assert.NotNil(t, sidecar.Container(pod, "s"))
		})
	}
}

// A SidecarSet that is left out adds nothing, also no annotations.
// Case sidecarset 27a.
func TestSidecarSetThatClashesIsLeftOutAsAWhole(t *testing.T) {
	recorded := &warnings{}
	b := newSet("b", []string{"s", "t"}, func(set *v1beta1.SidecarSet) {
		set.Spec.PatchPodMetadata = []v1beta1.SidecarSetPatchPodMetadata{{Annotations: map[string]string{"b": "1"}, PatchPolicy: v1beta1.SidecarSetRetainPatchPolicy}}
	})
	w := worldOf(t, "", nil, newSet("a", []string{"s"}), b, newSet("c", []string{"u"}))
	pod := newPod()
	operations, err := w.Patch(warning.WithWarningRecorder(t.Context(), recorded), w.attributes(pod))
	require.NoError(t, err)
	text, err := json.Marshal(operations)
	require.NoError(t, err)
	assert.NotContains(t, string(text), `"name":"t"`)
	assert.NotContains(t, string(text), "/metadata/annotations/b")
	assert.Contains(t, string(text), `"name":"u"`)
	assert.Equal(t, warnings{"SidecarSet b is not injected, because SidecarSet a also has a container s; rename it, or select other Pods with one of the two"}, *recorded)
}

func notIn(key string, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: values},
	}}
}

// A Pod that no SidecarSet selects gets no patch, however many there are.
// Case pod-admission 1.
func TestUnconcernedPodGetsNoPatch(t *testing.T) {
	w := newWorld(t, "", nil)
	for i := range 500 {
		set := newSet(fmt.Sprint("set-", i), []string{"s"})
		set.Spec.Selector.MatchLabels["app"] = fmt.Sprint("app-", i)
		require.NoError(t, w.sidecars.sets.Add(set))
	}
	operations, err := w.Patch(t.Context(), w.attributes(newPod()))
	require.NoError(t, err)
	assert.Nil(t, operations)
}

// A Pod that a canary selects does not get the base of the canary.
// Case sidecarset 44.
func TestCanaryReplacesItsBase(t *testing.T) {
	canary := newSet("canary", []string{"s"}, func(set *v1beta1.SidecarSet) {
		set.Annotations["apps.kruise.io/sidecarset-canary"], set.Annotations["apps.kruise.io/sidecarset-base"] = "true", "base"
		set.Spec.Containers[0].Image = "s:canary"
	})
	pod := mustInject(t, newPod(), newSet("base", []string{"s"}), canary)
	assert.Equal(t, "s:canary", sidecar.Container(pod, "s").Image)
	assert.Equal(t, "canary", pod.Annotations["kruise.io/sidecarset-injected-list"])
	canary.Spec.InjectionStrategy.Paused = true
	pod = mustInject(t, newPod(), newSet("base", []string{"s"}), canary)
	assert.Equal(t, "base", pod.Annotations["kruise.io/sidecarset-injected-list"], "a paused canary replaces nothing")
}

// Case sidecarset 17.
func TestHotUpgradeHasTwoContainers(t *testing.T) {
	set := newSet("a", []string{"s"}, first(func(c *v1beta1.SidecarContainer) {
		c.UpgradeStrategy = v1beta1.SidecarContainerUpgradeStrategy{UpgradeType: v1beta1.SidecarContainerHotUpgrade, HotUpgradeEmptyImage: "empty:1"}
		c.Args = []string{"--serve"}
	}))
	pod := mustInject(t, newPod(), set)
	assert.Equal(t, []string{"s-1", "s-2", "main"}, namesOf(pod.Spec.Containers))
	assert.Equal(t, "s:1 empty:1", pod.Spec.Containers[0].Image+" "+pod.Spec.Containers[1].Image)
	assert.Equal(t, pod.Spec.Containers[0].Args, pod.Spec.Containers[1].Args)
	assert.JSONEq(t, `{"s":"s-1"}`, pod.Annotations["kruise.io/sidecarset-working-hotupgrade-container"])
	for i, want := range []string{"1", "0"} {
		name := pod.Spec.Containers[i].Name
		assert.Equal(t, want, pod.Annotations["version.sidecarset.kruise.io/"+name])
		assert.Equal(t, map[string]string{"1": "0", "0": "1"}[want], pod.Annotations["versionalt.sidecarset.kruise.io/"+name])
		paths := map[string]string{}
		for _, variable := range pod.Spec.Containers[i].Env[1:] {
			paths[variable.Name] = variable.ValueFrom.FieldRef.FieldPath
		}
		assert.Equal(t, map[string]string{
			"SIDECARSET_VERSION":     "metadata.annotations['version.sidecarset.kruise.io/" + name + "']",
			"SIDECARSET_VERSION_ALT": "metadata.annotations['versionalt.sidecarset.kruise.io/" + name + "']",
		}, paths)
	}
	assert.Equal(t, []string{"s"}, recordsOf(t, pod, "kruise.io/sidecarset-hash")["a"].SidecarList, "the name in the SidecarSet")
}

// storedRevision returns a revision of the SidecarSet with another image.
func storedRevision(t *testing.T, set *v1beta1.SidecarSet, name, image, version string, number int64) *appsv1.ControllerRevision {
	t.Helper()
	stored := set.DeepCopy()
	stored.Spec.Containers = []v1beta1.SidecarContainer{newSidecar("s", v1beta1.BeforeAppContainerType)}
	stored.Spec.Containers[0].Image = image
	data, err := sidecar.Data(&stored.Spec)
	require.NoError(t, err)
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "kruise-system",
			Labels:      map[string]string{"kruise.io/sidecarset-name": set.Name, "apps.kruise.io/sidecarset-custom-version": version},
			Annotations: map[string]string{"kruise.io/sidecarset-hash": "hash-" + name, "kruise.io/sidecarset-hash-without-image": "rest-" + name},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: number,
	}
}

// Cases sidecarset 21, 22, 23.
func TestStoredRevisionIsInjected(t *testing.T) {
	partial := func(revision *v1beta1.SidecarSetInjectRevision) {
		revision.Policy = v1beta1.PartialSidecarSetInjectRevisionPolicy
	}
	version := func(name string) func(*v1beta1.SidecarSetInjectRevision) {
		return func(revision *v1beta1.SidecarSetInjectRevision) { revision.CustomVersion = &name }
	}
	named := func(name string) func(*v1beta1.SidecarSetInjectRevision) {
		return func(revision *v1beta1.SidecarSetInjectRevision) { revision.RevisionName = &name }
	}
	percent := func(p string) setEdit {
		return func(set *v1beta1.SidecarSet) { set.Spec.UpdateStrategy.Partition = new(intstr.FromString(p)) }
	}
	tests := map[string]struct {
		revision []func(*v1beta1.SidecarSetInjectRevision)
		set      setEdit
		random   float64
		want     string
	}{
		"the newest of a version":            {revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1")}, want: "s:old2"},
		"a name, whatever the version":       {revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1"), named("a-old1")}, want: "s:old1"},
		"an unknown name":                    {revision: []func(*v1beta1.SidecarSetInjectRevision){named("gone")}},
		"an unknown version":                 {revision: []func(*v1beta1.SidecarSetInjectRevision){version("v9")}},
		"the revision of another SidecarSet": {revision: []func(*v1beta1.SidecarSetInjectRevision){named("b-old")}},
		"both empty":                         {revision: []func(*v1beta1.SidecarSetInjectRevision){named("")}, want: "s:1"},
		"partial":                            {revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1"), partial}, want: "s:1"},
		"partial, and paused": {
			revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1"), partial},
			set:      func(set *v1beta1.SidecarSet) { set.Spec.UpdateStrategy.Paused = true }, want: "s:old2",
		},
		"partial, and not selected for upgrades": {
			revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1"), partial},
			set: func(set *v1beta1.SidecarSet) {
				set.Spec.UpdateStrategy.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "true"}}
			}, want: "s:old2",
		},
		"partial, and selected for upgrades": {
			revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1"), partial},
			set:      func(set *v1beta1.SidecarSet) { set.Spec.UpdateStrategy.Selector = set.Spec.Selector }, want: "s:1",
		},
		"partial, selected, and within the percentage": {
			revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1"), partial},
			set: func(set *v1beta1.SidecarSet) {
				set.Spec.UpdateStrategy.Selector = set.Spec.Selector
				percent("50%")(set)
			}, random: 0.49, want: "s:old2",
		},
		"partial, within a part of one percent": {
			revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1"), partial}, set: percent("0.5%"), random: 0.0049, want: "s:old2",
		},
		"partial, beyond a part of one percent": {
			revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1"), partial}, set: percent("0.5%"), random: 0.0051, want: "s:1",
		},
		"partial, within the percentage": {
			revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1"), partial}, set: percent("30%"), random: 0.29, want: "s:old2",
		},
		"partial, beyond the percentage": {
			revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1"), partial}, set: percent("30%"), random: 0.3, want: "s:1",
		},
		"partial, 100%": {
			revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1"), partial}, set: percent("100%"), random: 0.999, want: "s:old2",
		},
		"partial, 0%": {revision: []func(*v1beta1.SidecarSetInjectRevision){version("v1"), partial}, set: percent("0%"), want: "s:1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			set := newSet("a", []string{"s", "more"})
			set.Spec.InjectionStrategy.Revision = &v1beta1.SidecarSetInjectRevision{Policy: v1beta1.AlwaysSidecarSetInjectRevisionPolicy}
			for _, edit := range test.revision {
				edit(set.Spec.InjectionStrategy.Revision)
			}
			if test.set != nil {
				test.set(set)
			}
			w := worldOf(t, "", nil, set)
			w.sidecars.random = func() float64 { return test.random }
			for _, revision := range []*appsv1.ControllerRevision{
				storedRevision(t, set, "a-old1", "s:old1", "v1", 1), storedRevision(t, set, "a-old2", "s:old2", "v1", 2),
				storedRevision(t, newSet("b", []string{"s"}), "b-old", "s:b", "v1", 3),
			} {
				require.NoError(t, w.sidecars.revisions.known.Add(revision))
			}
			before := set.DeepCopy()
			pod, err := w.tryCreate(newPod())
			assert.Equal(t, before, set, "the object of the cache does not change")
			if test.want == "" {
				require.True(t, apierrors.IsForbidden(err), "%v", err)
				assert.ErrorContains(t, err, "SidecarSet a injects a stored revision that does not exist")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, sidecar.Container(pod, "s").Image)
			record := recordsOf(t, pod, "kruise.io/sidecarset-hash")["a"]
			if test.want == "s:1" {
				assert.Equal(t, "hash-a", record.Hash)
				return
			}
			assert.Nil(t, sidecar.Container(pod, "more"), "the stored list replaces the current one")
			assert.Equal(t, "hash-a-old"+test.want[5:], record.Hash)
			assert.Equal(t, "a-old"+test.want[5:], record.ControllerRevision)
		})
	}
	set := newSet("a", []string{"s"}, func(set *v1beta1.SidecarSet) {
		set.Spec.InjectionStrategy.Revision = &v1beta1.SidecarSetInjectRevision{RevisionName: new("a-old")}
	})
	w := worldOf(t, "", nil, set)
	w.sidecars.revisions.synced = func() bool { return false }
	_, err := w.tryCreate(newPod())
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
}

// A deleted SidecarSet of the same name has left its revisions. Garbage collection has not deleted them yet.
func TestRevisionOfADeletedSidecarSetIsNotInjected(t *testing.T) {
	set := newSet("a", []string{"s"}, func(set *v1beta1.SidecarSet) { set.UID = "now" })
	deleted := set.DeepCopy()
	deleted.UID = "deleted"
	stored := func(owner *v1beta1.SidecarSet, name, image string, number int64) *appsv1.ControllerRevision {
		revision := storedRevision(t, set, name, image, "v1", number)
		if owner != nil {
			ref := metav1.NewControllerRef(owner, v1beta1.SchemeGroupVersion.WithKind("SidecarSet"))
			revision.OwnerReferences = []metav1.OwnerReference{*ref}
		}
		return revision
	}
	version := &v1beta1.SidecarSetInjectRevision{CustomVersion: new("v1"), Policy: v1beta1.AlwaysSidecarSetInjectRevisionPolicy}
	tests := map[string]struct {
		wanted *v1beta1.SidecarSetInjectRevision
		stored []*appsv1.ControllerRevision
		want   string
	}{
		"by version": {version,
			[]*appsv1.ControllerRevision{stored(set, "a-1", "s:own", 1), stored(deleted, "a-2", "s:deleted", 2)}, "s:own"},
		"without a controller": {version,
			[]*appsv1.ControllerRevision{stored(nil, "a-1", "s:left", 1), stored(deleted, "a-2", "s:deleted", 2)}, "s:left"},
		"its own comes first": {version, []*appsv1.ControllerRevision{stored(set, "a-1", "s:own", 1), stored(nil, "a-2", "s:left", 2)}, "s:own"},
		"only of the deleted": {version, []*appsv1.ControllerRevision{stored(deleted, "a-2", "s:deleted", 2)}, ""},
		"by name": {&v1beta1.SidecarSetInjectRevision{RevisionName: new("a-2"), Policy: v1beta1.AlwaysSidecarSetInjectRevisionPolicy},
			[]*appsv1.ControllerRevision{stored(deleted, "a-2", "s:deleted", 2)}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pinned := set.DeepCopy()
			pinned.Spec.InjectionStrategy.Revision = test.wanted
			w := worldOf(t, "", nil, pinned)
			for _, revision := range test.stored {
				require.NoError(t, w.sidecars.revisions.known.Add(revision))
			}
			pod, err := w.tryCreate(newPod())
			if test.want == "" {
				assert.ErrorContains(t, err, "SidecarSet a injects a stored revision that does not exist")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, sidecar.Container(pod, "s").Image)
		})
	}
}

// Cases sidecarset 30, 39.
func TestPatchedAnnotations(t *testing.T) {
	tests := map[string]struct {
		policy v1beta1.SidecarSetPatchPolicyType
		have   *string
		value  string
		want   string
	}{
		"retained":               {v1beta1.SidecarSetRetainPatchPolicy, new("own"), "new", "own"},
		"retained, empty":        {v1beta1.SidecarSetRetainPatchPolicy, new(""), "new", ""},
		"retained, absent":       {v1beta1.SidecarSetRetainPatchPolicy, nil, "new", "new"},
		"overwritten":            {v1beta1.SidecarSetOverwritePatchPolicy, new("own"), "new", "new"},
		"merged":                 {v1beta1.SidecarSetMergePatchJSONPatchPolicy, new(`{"a":1}`), `{"b":2}`, `{"a":1,"b":2}`},
		"merged, compact":        {v1beta1.SidecarSetMergePatchJSONPatchPolicy, new(`{ "z": "<", "a": 1.50 }`), `{"a":2}`, `{"a":2,"z":"<"}`},
		"merged, a field goes":   {v1beta1.SidecarSetMergePatchJSONPatchPolicy, new(`{"a":{"x":1,"y":2}}`), `{"a":{"x":null}}`, `{"a":{"y":2}}`},
		"merged, absent":         {v1beta1.SidecarSetMergePatchJSONPatchPolicy, nil, `{ "b": 2 }`, `{ "b": 2 }`},
		"merged, empty":          {v1beta1.SidecarSetMergePatchJSONPatchPolicy, new(""), `{"b":2}`, `{"b":2}`},
		"merged into no object":  {v1beta1.SidecarSetMergePatchJSONPatchPolicy, new(`[1]`), `{"b":2}`, `{"b":2}`},
		"merged, and no JSON":    {v1beta1.SidecarSetMergePatchJSONPatchPolicy, new("plain text"), `{"b":2}`, ""},
		"merged, and two values": {v1beta1.SidecarSetMergePatchJSONPatchPolicy, new("{} {}"), `{"b":2}`, ""},
		"merged, and a rest":     {v1beta1.SidecarSetMergePatchJSONPatchPolicy, new(`{"a":1}}`), `{"b":2}`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			set := newSet("a", []string{"s"}, func(set *v1beta1.SidecarSet) {
				set.Spec.PatchPodMetadata = []v1beta1.SidecarSetPatchPodMetadata{
					{Annotations: map[string]string{"x/k": test.value}, PatchPolicy: test.policy},
				}
			})
			pod := newPod()
			if test.have != nil {
				pod.Annotations = map[string]string{"x/k": *test.have}
			}
			injected, err := inject(t, pod, set)
			if test.want == "" && test.policy == v1beta1.SidecarSetMergePatchJSONPatchPolicy {
				require.True(t, apierrors.IsInvalid(err), "%v", err)
				assert.ErrorContains(t, err, "metadata.annotations[x/k]")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, injected.Annotations["x/k"])
			assert.Equal(t, "a", injected.Annotations["kruise.io/sidecarset-injected-list"])
		})
	}
}

// Case sidecarset 51.
func TestComputedResources(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		result := corev1.ResourceList{}
		if cpu != "" {
			result[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			result[corev1.ResourceMemory] = resource.MustParse(memory)
		}
		return result
	}
	const cpu, memory = "max(cpu*50%, 50m)", "max(memory*20% + 100Mi, 200Mi)"
	tests := map[string]struct {
		mode   v1beta1.TargetContainersModeType
		regex  string
		limits [2]corev1.ResourceList
		exprs  v1beta1.ResourceExprs
		want   corev1.ResourceList
		err    string
	}{
		"sum": {
			mode: "sum", limits: [2]corev1.ResourceList{list("200m", "400Mi"), list("400m", "600Mi")}, exprs: v1beta1.ResourceExprs{CPU: cpu, Memory: memory},
			want: list("300m", "300Mi"),
		},
		"max": {
			mode: "max", limits: [2]corev1.ResourceList{list("200m", ""), list("400m", "")}, exprs: v1beta1.ResourceExprs{CPU: cpu}, want: list("200m", ""),
		},
		"an unlimited container": {
			mode: "sum", limits: [2]corev1.ResourceList{list("200m", "400Mi"), list("", "600Mi")},
			exprs: v1beta1.ResourceExprs{CPU: "100m", Memory: "memory"}, want: list("", "1000Mi"),
		},
		"one container by its name": {
			mode: "sum", regex: "^main$", limits: [2]corev1.ResourceList{list("200m", ""), list("400m", "")}, exprs: v1beta1.ResourceExprs{CPU: "cpu"},
			want: list("200m", ""),
		},
		"no such container": {mode: "sum", regex: "none", exprs: v1beta1.ResourceExprs{CPU: "cpu"}, err: `no container of the Pod has a name that matches "none"`},
		"a negative result": {
			mode: "sum", limits: [2]corev1.ResourceList{list("200m", ""), list("400m", "")}, exprs: v1beta1.ResourceExprs{CPU: "cpu - 1"}, err: "negative",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			policy := &v1beta1.ResourcesPolicy{TargetContainersMode: test.mode, ResourcesExpr: v1beta1.ResourcesExpr{Limits: &test.exprs}}
			if test.regex != "" {
				policy.TargetContainersNameRegex = &test.regex
			}
			set := newSet("a", []string{"s", "plain"}, first(func(c *v1beta1.SidecarContainer) { c.ResourcesPolicy = policy }))
			pod := newPod(func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{
					{Name: "main", Resources: corev1.ResourceRequirements{Limits: test.limits[0]}},
					{Name: "more", Resources: corev1.ResourceRequirements{Limits: test.limits[1]}},
				}
				p.Spec.InitContainers = []corev1.Container{{Name: "init", Resources: corev1.ResourceRequirements{Limits: list("9", "9Gi")}}}
			})
			injected, err := inject(t, pod, set)
			if test.err != "" {
				require.True(t, apierrors.IsInvalid(err), "%v", err)
				assert.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			have := sidecar.Container(injected, "s").Resources.Limits
			require.Len(t, have, len(test.want))
			for key, want := range test.want {
				amount := have[key]
				assert.Zero(t, want.Cmp(amount), "%s is %s", key, amount.String())
			}
		})
	}
}

// The annotations of a copied Pod are kept for SidecarSets that are not injected now, and brought up to date for the others. A
// value that cannot be read is refused.
// Case sidecarset 31.
func TestAnnotationsOfACopiedPod(t *testing.T) {
	pod := newPod(func(p *corev1.Pod) {
		p.Annotations = map[string]string{
			"kruise.io/sidecarset-hash": `{"a":"old","gone":"g"}`, "kruise.io/sidecarset-hash-without-image": `{"a":"old"}`,
		}
	})
	injected := mustInject(t, pod, newSet("a", []string{"s"}))
	records := recordsOf(t, injected, "kruise.io/sidecarset-hash")
	assert.Equal(t, "hash-a", records["a"].Hash)
	assert.Equal(t, "g", records["gone"].Hash)

	pod.Annotations["kruise.io/sidecarset-hash"] = "["
	_, err := inject(t, pod, newSet("a", []string{"s"}))
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.ErrorContains(t, err, "metadata.annotations[kruise.io/sidecarset-hash]")
}

// A copy of a Pod has the containers of all SidecarSets that it lists, also of those that do not select it now.
// Case sidecarset 54.
func TestListOfACopiedPodIsMerged(t *testing.T) {
	for name, test := range map[string]struct{ list, want string }{
		"no list":             {"", "a,c"},
		"the same":            {"a,c", "a,c"},
		"one more":            {"b", "a,b,c"},
		"one less":            {"c", "a,c"},
		"of other namespaces": {"z,b,z", "a,b,c,z"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod(func(p *corev1.Pod) {
				p.Annotations = map[string]string{"kruise.io/sidecarset-injected-list": test.list}
			})
			injected := mustInject(t, pod, newSet("c", []string{"t"}), newSet("a", []string{"s"}))
			assert.Equal(t, test.want, injected.Annotations["kruise.io/sidecarset-injected-list"])
		})
	}
}

// SidecarSets store the default, and Pods get it from nobody: those of Windows must not have it.
// Case sidecarset 53.
func TestDefaultProcMountIsNotInjected(t *testing.T) {
	for name, test := range map[string]struct{ stored, want *corev1.ProcMountType }{
		"the default":      {new(corev1.DefaultProcMount), nil},
		"another value":    {new(corev1.UnmaskedProcMount), new(corev1.UnmaskedProcMount)},
		"a set without it": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			set := newSet("a", []string{"s"}, first(func(c *v1beta1.SidecarContainer) {
				c.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: new(true), ProcMount: test.stored}
			}))
			before := set.DeepCopy()
			injected := sidecar.Container(mustInject(t, newPod(), set), "s")
			assert.Equal(t, &corev1.SecurityContext{RunAsNonRoot: new(true), ProcMount: test.want}, injected.SecurityContext)
			assert.Equal(t, before, set)
		})
	}
}

// The launch order adds a variable to injected containers. A second call must not take it for a difference.
// Case pod-admission 7.
func TestBarrierOfAnInjectedContainerSurvivesASecondCall(t *testing.T) {
	for name, set := range map[string]*v1beta1.SidecarSet{
		"in the order of the list": newSet("a", []string{"s"}, func(set *v1beta1.SidecarSet) {
			set.Spec.PatchPodMetadata = []v1beta1.SidecarSetPatchPodMetadata{{
				Annotations: map[string]string{"apps.kruise.io/container-launch-priority": "Ordered"}, PatchPolicy: v1beta1.SidecarSetRetainPatchPolicy,
			}}
		}),
		"by priority": newSet("a", []string{"s"}, first(func(c *v1beta1.SidecarContainer) {
			c.Env = []corev1.EnvVar{{Name: "KRUISE_CONTAINER_PRIORITY", Value: "1"}}
		})),
	} {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, "", nil, set)
			pod := w.create(newPod())
			for i := range pod.Spec.Containers {
				assert.NotNil(t, lastVariable(&pod.Spec.Containers[i], "KRUISE_CONTAINER_BARRIER"))
			}
			operations, err := w.Patch(t.Context(), w.attributes(pod))
			require.NoError(t, err)
			assert.Empty(t, operations)
		})
	}
}

// kube-apiserver mounts the token of the service account into injected containers. A second call must not remove the mount.
func TestTokenMountSurvivesASecondCall(t *testing.T) {
	w := worldOf(t, "", nil, newSet("a", []string{"s"}))
	pod := w.create(newPod())
	token := corev1.VolumeMount{Name: "kube-api-access", MountPath: tokenPath, ReadOnly: true}
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].VolumeMounts = append(pod.Spec.Containers[i].VolumeMounts, token)
	}
	operations, err := w.Patch(t.Context(), w.attributes(pod))
	require.NoError(t, err)
	assert.Empty(t, operations)

	pod.Spec.Containers[0].Image = "changed:1"
	operations, err = w.Patch(t.Context(), w.attributes(pod))
	require.NoError(t, err)
	require.Len(t, operations, 1, "a container that differs is replaced")
	text, err := json.Marshal(operations[0].Value)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"image":"s:1"`)
}

func utc(records sidecar.Records) sidecar.Records {
	for name, record := range records {
		record.UpdateTimestamp = metav1.NewTime(record.UpdateTimestamp.UTC())
		records[name] = record
	}
	return records
}

func TestNamesInPathsAreEscaped(t *testing.T) {
	assert.Equal(t, "a~1b~0c", pointer("a/b~c"))
}
