package deletionprotection

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/ptr"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/protectionlog"
	"kruise.io/kruise/pkg/workload/refusals"
)

const (
	always    = "forbidden by ResourcesProtectionDeletion for policy.kruise.io/delete-protection=Always"
	cascading = "forbidden by ResourcesProtectionDeletion for policy.kruise.io/delete-protection=Cascading"
)

var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	now         = metav1.Now()
)

// fixture is a plugin with the clients that it reads and the log that it writes.
type fixture struct {
	kube     *fake.Clientset
	metadata *metadatafake.FakeMetadataClient
	written  bytes.Buffer
	plugin   *Plugin
}

// in creates the plugin for a cluster with the given objects. The custom resources are dolls of example.com.
func in(t *testing.T, gates string, objects ...runtime.Object) *fixture {
	t.Helper()
	gate, err := features.New("")
	require.NoError(t, err)
	require.NoError(t, gate.Set(gates))
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	var host, custom []runtime.Object
	for _, object := range objects {
		if _, ok := object.(*metav1.PartialObjectMetadata); ok {
			custom = append(custom, object)
		} else {
			host = append(host, object)
		}
	}
	f := &fixture{kube: fake.NewClientset(host...), metadata: metadatafake.NewSimpleMetadataClient(scheme, custom...), plugin: New(false)}
	f.plugin.SetExternalKubeClientSet(f.kube)
	(&initializer.Initializer{Features: gate, Metadata: f.metadata, ProtectionLog: protectionlog.New(&f.written)}).Initialize(f.plugin)
	require.NoError(t, f.plugin.ValidateInitialization())
	return f
}

// request is one deletion.
type request struct {
	resource    schema.GroupVersionResource
	subresource string
	object      runtime.Object
	dryRun      bool
}

func (f *fixture) delete(ctx context.Context, r request) error {
	// The attributes have no name, as for the deletion of a collection.
	return f.plugin.Validate(ctx, admission.NewAttributesRecord(nil, r.object, schema.GroupVersionKind{}, "", "", r.resource, r.subresource,
		admission.Delete, &metav1.DeleteOptions{}, r.dryRun, &user.DefaultInfo{Name: "jane"}), nil)
}

func labelled(protection string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{pub.DeletionProtectionKey: protection}}
}

func terminating(object metav1.ObjectMeta) metav1.ObjectMeta {
	object.DeletionTimestamp, object.Finalizers = &now, []string{"a/b"}
	return object
}

func namespace(protection string) *corev1.Namespace {
	object := labelled(protection)
	object.Namespace, object.Name = "", "shop"
	return &corev1.Namespace{ObjectMeta: object}
}

func cloneSet(protection string, replicas *int32) *apps.CloneSet {
	return &apps.CloneSet{ObjectMeta: labelled(protection), Spec: apps.CloneSetSpec{Replicas: replicas}}
}

func pod(name string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Status: corev1.PodStatus{Phase: phase}}
}

func leavingPod() *corev1.Pod {
	leaving := pod("leaving", corev1.PodRunning)
	leaving.ObjectMeta = terminating(leaving.ObjectMeta)
	return leaving
}

func claim(phase corev1.PersistentVolumeClaimPhase, leaving bool) *corev1.PersistentVolumeClaim {
	object := metav1.ObjectMeta{Namespace: "shop", Name: "data-" + strings.ToLower(string(phase))}
	if leaving {
		object = terminating(object)
	}
	return &corev1.PersistentVolumeClaim{ObjectMeta: object, Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
}

func doll(name string, leaving bool) *metav1.PartialObjectMetadata {
	object := metav1.ObjectMeta{Namespace: "elsewhere", Name: name}
	if leaving {
		object = terminating(object)
	}
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v2", Kind: "Doll"}, ObjectMeta: object}
}

// dolls returns the CustomResourceDefinition. v1 is served, v2 is served and stored, and v3 is neither.
func dolls(t *testing.T, protection, established string) *unstructured.Unstructured {
	t.Helper()
	text := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
		"metadata":{"name":"dolls.example.com","labels":{"policy.kruise.io/delete-protection":"` + protection + `"}},
		"spec":{"group":"example.com","names":{"plural":"dolls","kind":"Doll"},"versions":[
			{"name":"v1","served":true},{"name":"v2","served":true,"storage":true},{"name":"v3"}]},
		"status":{"conditions":[{"type":"Established","status":"` + established + `","lastTransitionTime":"2024-01-01T00:00:00Z"}]}}`
	object := &unstructured.Unstructured{}
	require.NoError(t, object.UnmarshalJSON([]byte(text)))
	return object
}

// Cases deletion-protection 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 13, 14, 15, 17, 20.
func TestDelete(t *testing.T) {
	clonesets, statefulsets := apps.Resource("clonesets").WithVersion("v1beta1"), apps.Resource("statefulsets").WithVersion("v1alpha1")
	united := apps.Resource("uniteddeployments").WithVersion("v1alpha1")
	here, going := namespace(""), namespace("")
	going.ObjectMeta = terminating(going.ObjectMeta)
	done := []runtime.Object{pod("a", corev1.PodSucceeded), pod("b", corev1.PodFailed), leavingPod()}
	tests := map[string]struct {
		gates   string
		cluster []runtime.Object
		request request
		want    string
	}{
		"an empty namespace, Always":   {request: request{resource: namespaces, object: namespace("Always")}, want: always},
		"one Pending Pod":              {cluster: append([]runtime.Object{pod("p", corev1.PodPending)}, done...), request: request{resource: namespaces, object: namespace("Cascading")}, want: cascading + " and active pods 1>0"},
		"an Unknown Pod too":           {cluster: []runtime.Object{pod("p", corev1.PodUnknown)}, request: request{resource: namespaces, object: namespace("Cascading")}, want: cascading + " and active pods 1>0"},
		"Pods that are done":           {cluster: done, request: request{resource: namespaces, object: namespace("Cascading")}},
		"a Bound claim":                {cluster: append([]runtime.Object{claim(corev1.ClaimBound, false)}, done...), request: request{resource: namespaces, object: namespace("Cascading")}, want: cascading + ` and "Bound" status pvc 1>0`},
		"Pods come first":              {cluster: []runtime.Object{claim(corev1.ClaimBound, false), pod("p", corev1.PodRunning)}, request: request{resource: namespaces, object: namespace("Cascading")}, want: "active pods 1>0"},
		"claims that hold nothing":     {cluster: []runtime.Object{claim(corev1.ClaimPending, false), claim(corev1.ClaimBound, true)}, request: request{resource: namespaces, object: namespace("Cascading")}},
		"CloneSet with replicas":       {cluster: []runtime.Object{here}, request: request{resource: clonesets, object: cloneSet("Cascading", ptr.To[int32](2))}, want: cascading + " and replicas 2>0"},
		"scaled to zero":               {request: request{resource: clonesets, object: cloneSet("Cascading", ptr.To[int32](0))}},
		"replicas are not said":        {request: request{resource: clonesets, object: cloneSet("Cascading", nil)}},
		"CloneSet without any, Always": {cluster: []runtime.Object{here}, request: request{resource: clonesets, object: cloneSet("Always", ptr.To[int32](0))}, want: always},
		"StatefulSet": {cluster: []runtime.Object{here}, request: request{resource: statefulsets,
			object: &apps.StatefulSet{ObjectMeta: labelled("Cascading"), Spec: apps.StatefulSetSpec{Replicas: ptr.To[int32](3)}}}, want: cascading + " and replicas 3>0"},
		"UnitedDeployment": {cluster: []runtime.Object{here}, request: request{resource: united,
			object: &apps.UnitedDeployment{ObjectMeta: labelled("Cascading"), Spec: apps.UnitedDeploymentSpec{Replicas: ptr.To[int32](1)}}}, want: cascading + " and replicas 1>0"},
		"UnitedDeployment, by its subsets": {cluster: []runtime.Object{here}, request: request{resource: united,
			object: &apps.UnitedDeployment{ObjectMeta: labelled("Cascading"), Spec: apps.UnitedDeploymentSpec{Topology: apps.Topology{
				Subsets: []apps.Subset{{Replicas: new(intstr.FromInt32(2))}, {Replicas: new(intstr.FromInt32(3))}}}}}}, want: cascading + " and replicas 5>0"},
		"UnitedDeployment without any": {request: request{resource: united, object: &apps.UnitedDeployment{ObjectMeta: labelled("Cascading")}}},
		"the second gate is off": {
			gates: "DeletionProtectionForCRDCascadingGate=false", cluster: []runtime.Object{doll("a", false)},
			request: request{resource: definitions, object: dolls(t, "Cascading", "True")},
			want:    cascading + ", feature-gate DeletionProtectionForCRDCascadingGate is not enabled",
		},
		"one custom resource": {
			cluster: []runtime.Object{doll("a", false), doll("b", true)}, request: request{resource: definitions, object: dolls(t, "Cascading", "True")},
			want: cascading + " and active CRs 1>0",
		},
		"custom resources that leave":    {cluster: []runtime.Object{doll("b", true)}, request: request{resource: definitions, object: dolls(t, "Cascading", "True")}},
		"a definition that never served": {cluster: []runtime.Object{doll("a", false)}, request: request{resource: definitions, object: dolls(t, "Cascading", "False")}},
		"a definition, Always":           {request: request{resource: definitions, object: dolls(t, "Always", "True")}, want: always},
		"another spelling":               {request: request{resource: clonesets, object: cloneSet("always", ptr.To[int32](2))}},
		"an empty value":                 {request: request{resource: namespaces, object: namespace("")}},
		"the gate is off":                {gates: "ResourcesDeletionProtection=false", request: request{resource: clonesets, object: cloneSet("Always", nil)}},
		"it is terminating": {request: request{resource: clonesets,
			object: &apps.CloneSet{ObjectMeta: terminating(labelled("Always"))}}},
		"a dry run":             {cluster: []runtime.Object{here}, request: request{resource: clonesets, object: cloneSet("Always", nil), dryRun: true}, want: always},
		"its namespace goes":    {cluster: []runtime.Object{going}, request: request{resource: clonesets, object: cloneSet("Always", nil)}},
		"its namespace is gone": {request: request{resource: clonesets, object: cloneSet("Always", nil)}},
		"a subresource":         {request: request{resource: clonesets, subresource: "status", object: cloneSet("Always", nil)}},
		"no old object":         {request: request{resource: clonesets}},
		"another kind":          {request: request{resource: apps.Resource("daemonsets").WithVersion("v1alpha1"), object: &apps.DaemonSet{ObjectMeta: labelled("Always")}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := in(t, test.gates, test.cluster...)
			err := f.delete(t.Context(), test.request)
			if test.want == "" {
				assert.NoError(t, err)
				assert.Empty(t, f.written.String())
				return
			}
			require.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, test.want)
			assert.Equal(t, !test.request.dryRun, f.written.Len() > 0, "a dry run is not written down")
		})
	}
}

// Case deletion-protection 19.
func TestLookupsThatFailRefuse(t *testing.T) {
	f := in(t, "")
	for _, test := range []struct {
		resource string
		want     string
	}{{"pods", "list pods error: out of order"}, {"persistentvolumeclaims", "list pvc error: out of order"}} {
		f.kube.ReactionChain = nil
		f.kube.AddReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if action.GetResource().Resource == test.resource {
				return true, nil, errors.New("out of order")
			}
			return true, &corev1.PodList{}, nil
		})
		err := f.delete(t.Context(), request{resource: namespaces, object: namespace("Cascading")})
		assert.True(t, apierrors.IsForbidden(err), "%v", err)
		assert.ErrorContains(t, err, cascading+", "+test.want)
	}
	f.metadata.PrependReactor("list", "dolls", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: "dolls"}, "", errors.New("no rule"))
	})
	err := f.delete(t.Context(), request{resource: definitions, object: dolls(t, "Cascading", "True")})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, "failed to list CRs: grant the verb list on dolls.example.com")
}

// TestPagesAreReadUpToTheFirstThatCounts checks that reading stops at the first page with a counted object, or else at the last page.
func TestPagesAreReadUpToTheFirstThatCounts(t *testing.T) {
	pages := map[string][]int{"": {0, 0}, "2": {0}, "3": {1, 0, 1}, "4": {1}}
	for name, test := range map[string]struct {
		last string
		want int
	}{"found": {"4", 2}, "none": {"2", 0}} {
		t.Run(name, func(t *testing.T) {
			var read []string
			found, err := count(func(options metav1.ListOptions) ([]int, string, error) {
				assert.EqualValues(t, pageSize, options.Limit)
				read = append(read, options.Continue)
				next := map[string]string{"": "2", "2": "3", "3": "4"}[options.Continue]
				if options.Continue == test.last {
					next = ""
				}
				return pages[options.Continue], next, nil
			}, func(item *int) bool { return *item > 0 })
			require.NoError(t, err)
			assert.Equal(t, test.want, found)
			assert.NotContains(t, read, "4")
		})
	}
}

func TestProtectionCanOutweighTheNamespace(t *testing.T) {
	going := namespace("")
	going.ObjectMeta = terminating(going.ObjectMeta)
	f := in(t, "", going)
	f.plugin.inTerminatingNamespaces = true
	err := f.delete(t.Context(), request{resource: apps.Resource("clonesets").WithVersion("v1beta1"), object: cloneSet("Always", nil)})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
}

// Case deletion-protection 17.
// Cases metrics 3, 4.
func TestRefusalsAreCountedAndWrittenDown(t *testing.T) {
	value := func(counter *refusals.Counter, object string) float64 {
		counted, err := testutil.GetCounterMetricValue(counter.WithLabelValues(object, "jane"))
		require.NoError(t, err)
		return counted
	}
	clonesets := apps.Resource("clonesets").WithVersion("v1beta1")
	tests := map[string]struct {
		counter *refusals.Counter
		object  string
		request request
		line    string
	}{
		"namespace": {
			namespaceRefusals, "shop", request{resource: namespaces, object: namespace("Always")},
			`{"Event":"DeletionProtection","Kind":"Namespace","Namespace":"","Name":"shop","UserAgent":"jane"}`,
		},
		"definition": {
			definitionRefusals, "dolls.example.com", request{resource: definitions, object: dolls(t, "Always", "True")},
			`{"Event":"DeletionProtection","Kind":"CustomResourceDefinition","Namespace":"","Name":"dolls.example.com","UserAgent":"jane"}`,
		},
		"workload": {
			workloadRefusals, "CloneSet_shop_web", request{resource: clonesets, object: cloneSet("Always", nil)},
			`{"Event":"DeletionProtection","Kind":"CloneSet","Namespace":"shop","Name":"web","UserAgent":"jane"}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := in(t, "", namespace(""))
			before := value(test.counter, test.object)
			require.Error(t, f.delete(t.Context(), test.request))
			assert.Equal(t, before+1, value(test.counter, test.object))
			assert.Equal(t, test.line+"\n", f.written.String())
			test.request.dryRun = true
			require.Error(t, f.delete(t.Context(), test.request))
			assert.Equal(t, before+1, value(test.counter, test.object), "a dry run is not counted")
		})
	}
}

type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

func TestIneffectiveLabelsGetAWarning(t *testing.T) {
	const warned = `label policy.kruise.io/delete-protection="always" has no effect: use Always or Cascading`
	tests := map[string]struct {
		old, object runtime.Object
		want        warnings
	}{
		"created":           {nil, cloneSet("always", nil), warnings{warned}},
		"changed":           {cloneSet("Always", nil), cloneSet("always", nil), warnings{warned}},
		"left as it is":     {cloneSet("always", nil), cloneSet("always", nil), nil},
		"one that protects": {nil, cloneSet("Cascading", nil), nil},
		"no label":          {nil, &apps.CloneSet{}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			operation := admission.Create
			if test.old != nil {
				operation = admission.Update
			}
			var got warnings
			err := in(t, "").plugin.Validate(warning.WithWarningRecorder(t.Context(), &got), admission.NewAttributesRecord(test.object, test.old,
				schema.GroupVersionKind{}, "shop", "web", apps.Resource("clonesets").WithVersion("v1beta1"), "", operation, nil, false, nil), nil)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}
