package resourcedistribution

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller/controllertest"
)

const (
	aConfigMap = `{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":{"labels":{"app":"web"},"name":"copy"}}`
	aSecret    = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"copy"},"stringData":{"a":"1"}}`
)

type world struct {
	*controllertest.Fixture
	t *testing.T
	r *Reconciler
}

// newWorld returns a cluster with the namespaces a, b and c, kube-system and kube-public, and a ResourceDistribution.
func newWorld(t *testing.T, resource string, edits ...func(*v1beta1.ResourceDistributionTargets)) *world {
	t.Helper()
	d := &v1beta1.ResourceDistribution{
		ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d", Generation: 1},
		Spec:       v1beta1.ResourceDistributionSpec{Resource: runtime.RawExtension{Raw: []byte(resource)}},
	}
	for _, edit := range edits {
		edit(&d.Spec.Targets)
	}
	f := controllertest.New(t, "", d)
	r, skeleton := build(f.Deps)
	copied := f.Deps.KubeInformers.Selected(pub.DistributedCopyKey, reduce).Core().V1()
	f.CacheSelected(secrets, "Secret", copied.Secrets(), pub.DistributedCopyKey, reduce)
	f.CacheSelected(configMaps, "ConfigMap", copied.ConfigMaps(), pub.DistributedCopyKey, reduce)
	f.Control(skeleton)
	w := &world{Fixture: f, t: t, r: r}
	for _, name := range []string{"a", "b", "c", metav1.NamespaceSystem, metav1.NamespacePublic} {
		w.Add(namespace(name))
	}
	return w
}

func namespace(name string, labels ...string) *corev1.Namespace {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, label := range labels {
		metav1.SetMetaDataLabel(&object.ObjectMeta, label, "x")
	}
	return object
}

func include(names ...string) func(*v1beta1.ResourceDistributionTargets) {
	return func(targets *v1beta1.ResourceDistributionTargets) { targets.IncludedNamespaces.List = list(names) }
}

func exclude(names ...string) func(*v1beta1.ResourceDistributionTargets) {
	return func(targets *v1beta1.ResourceDistributionTargets) { targets.ExcludedNamespaces.List = list(names) }
}

func list(names []string) (all []v1beta1.ResourceDistributionNamespace) {
	for _, name := range names {
		all = append(all, v1beta1.ResourceDistributionNamespace{Name: name})
	}
	return all
}

func everywhere(targets *v1beta1.ResourceDistributionTargets) { targets.AllNamespaces = true }

func labelled(label string) func(*v1beta1.ResourceDistributionTargets) {
	return func(targets *v1beta1.ResourceDistributionTargets) {
		targets.NamespaceSelector.MatchLabels = map[string]string{label: "x"}
	}
}

// settle reconciles until nothing more is written, and returns the writes.
func (w *world) settle() []string { return w.Converge("", "d") }

func (w *world) distribution() *v1beta1.ResourceDistribution {
	w.t.Helper()
	d, err := w.Kruise.AppsV1beta1().ResourceDistributions().Get(w.t.Context(), "d", metav1.GetOptions{})
	require.NoError(w.t, err)
	w.Kruise.ClearActions()
	return d
}

func (w *world) edit(edit func(*v1beta1.ResourceDistributionSpec)) {
	w.t.Helper()
	d := w.distribution()
	edit(&d.Spec)
	d.Generation++
	w.Update(d)
}

// in returns the namespaces that have a copy.
func (w *world) in() string {
	w.t.Helper()
	configMaps, err := w.Kube.CoreV1().ConfigMaps("").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	var names []string
	for i := range configMaps.Items {
		if metav1.IsControlledBy(&configMaps.Items[i], w.distribution()) {
			names = append(names, configMaps.Items[i].Namespace)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (w *world) configMap(namespace string) *corev1.ConfigMap {
	w.t.Helper()
	configMap, err := w.Kube.CoreV1().ConfigMaps(namespace).Get(w.t.Context(), "copy", metav1.GetOptions{})
	require.NoError(w.t, err)
	return configMap
}

// failed returns the namespaces of a condition that is True, after its reason.
func (w *world) failed(condition v1beta1.ResourceDistributionConditionType) (reason, namespaces string) {
	w.t.Helper()
	for _, c := range w.distribution().Status.Conditions {
		if c.Type == condition && c.Status == corev1.ConditionTrue {
			return c.Reason, strings.Join(c.FailedNamespaces, " ")
		}
	}
	return "", ""
}
