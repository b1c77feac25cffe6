package apps_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// defaults is what an object is when some fields of it are written, in every version that has the
// kind, or in the one that is named.
type defaults struct {
	only string
	// written and want are in YAML: the spec, and the fields of it that matter. null is for a field
	// that is not there, and {} for one in which there is nothing.
	written, want string
	// status is for a kind that has defaults there. It is written, and wanted so.
	status, wantStatus string
}

// Case broadcastjob 20.
// Case daemonset 3.
// Case image-predownload 8.
func TestDefaults(t *testing.T) {
	scheme, groupVersions := newScheme(t)
	for kind, cases := range defaultsByKind {
		for name, test := range cases {
			seen := false
			for _, version := range groupVersions {
				if !scheme.Recognizes(version.WithKind(kind)) || test.only != "" && test.only != version.Version {
					continue
				}
				seen = true
				t.Run(kind+" in "+version.Version+": "+name, func(t *testing.T) {
					object := read(t, scheme, version.WithKind(kind), "{spec: "+test.written+", status: "+test.status+"}")
					scheme.Default(object)
					shown := show(t, object)
					assertHas(t, parse(t, test.want), shown["spec"], "spec")
					assertHas(t, parse(t, test.wantStatus), shown["status"], "status")
					again := object.DeepCopyObject()
					scheme.Default(again)
					assert.Equal(t, object, again, "defaulting twice must change nothing")
				})
			}
			assert.True(t, seen, "no version has %s", kind)
		}
	}
}

// TestDefaultsLeaveAlone has what a newer server would fill in, and reads it as it was stored. Workloads
// in templates have defaults of their own when they are created: here replicas and partition would be
// filled, which no template may have.
func TestDefaultsLeaveAlone(t *testing.T) {
	const (
		pod   = `{metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b, ports: [{containerPort: 80}]}], volumes: [{name: v, rbd: {image: i, monitors: []}}]}}`
		inner = `{spec: {template: ` + pod + `}}`
		claim = `[{metadata: {name: c}, spec: {resources: {}}}]`
		probe = `{httpGet: {port: 80}}`
	)
	scheme, groupVersions := newScheme(t)
	for kind, spec := range map[string]string{
		"CloneSet":         `{template: ` + pod + `, volumeClaimTemplates: ` + claim + `}`,
		"StatefulSet":      `{template: ` + pod + `, volumeClaimTemplates: ` + claim + `}`,
		"DaemonSet":        `{template: ` + pod + `}`,
		"BroadcastJob":     `{template: ` + pod + `}`,
		"AdvancedCronJob":  `{template: {jobTemplate: ` + inner + `}}`,
		"UnitedDeployment": `{template: {statefulSetTemplate: ` + inner + `, advancedStatefulSetTemplate: ` + inner + `, cloneSetTemplate: ` + inner + `, deploymentTemplate: ` + inner + `}}`,
		"PodProbeMarker":   `{probes: [{name: p, containerName: c, probe: ` + probe + `}]}`,
		"NodePodProbe":     `{podProbes: [{name: p, namespace: n, uid: u, IP: i, probes: [{name: p, containerName: c, probe: ` + probe + `}]}]}`,
		"EphemeralJob":     `{template: {ephemeralContainers: [{name: a, image: b, ports: [{containerPort: 80}]}]}}`,
	} {
		for _, version := range groupVersions {
			if !scheme.Recognizes(version.WithKind(kind)) {
				continue
			}
			t.Run(kind+" in "+version.Version, func(t *testing.T) {
				object := read(t, scheme, version.WithKind(kind), "{spec: "+spec+"}")
				before := show(t, object)["spec"].(map[string]any)
				scheme.Default(object)
				after := show(t, object)["spec"].(map[string]any)
				for field := range parse(t, spec).(map[string]any) {
					assert.Equal(t, before[field], after[field], field)
				}
			})
		}
	}
}

func newScheme(t *testing.T) (*runtime.Scheme, []schema.GroupVersion) {
	t.Helper()
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(v1alpha1.AddToScheme, v1beta1.AddToScheme, v1alpha1.RegisterDefaults, v1beta1.RegisterDefaults)
	require.NoError(t, builder.AddToScheme(scheme))
	return scheme, []schema.GroupVersion{v1alpha1.SchemeGroupVersion, v1beta1.SchemeGroupVersion}
}

func read(t *testing.T, scheme *runtime.Scheme, kind schema.GroupVersionKind, text string) runtime.Object {
	t.Helper()
	object, err := scheme.New(kind)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), object))
	return object
}

func parse(t *testing.T, text string) (value any) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal([]byte(text), &value))
	return value
}

func show(t *testing.T, object runtime.Object) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	require.NoError(t, err)
	shown := unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal(text, &shown.Object))
	return shown.Object
}

// assertHas compares what is wanted, and leaves the fields alone that are not named.
func assertHas(t *testing.T, want, got any, path string) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !assert.True(t, ok, "%s is %v", path, got) || len(want) == 0 {
			assert.Empty(t, got, path)
			return
		}
		for name, value := range want {
			if field, found := fields[name]; value != nil {
				assertHas(t, value, field, path+"."+name)
			} else {
				assert.False(t, found, "%s.%s is %v", path, name, field)
			}
		}
	case []any:
		items, ok := got.([]any)
		if assert.True(t, ok && len(items) == len(want), "%s is %v", path, got) {
			for i := range want {
				assertHas(t, want[i], items[i], path)
			}
		}
	case nil:
	default:
		assert.Equal(t, want, got, path)
	}
}
