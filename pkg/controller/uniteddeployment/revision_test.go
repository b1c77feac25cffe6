package uniteddeployment

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// pods is the Pod template of the revisions below, in the encoding of an older Kubernetes.
const pods = `"template":{"metadata":{"creationTimestamp":null,"labels":{"app":"web"}},
	"spec":{"containers":[{"name":"main","image":"web:1","resources":{}}]}}`

// encoded returns the data of a revision with the fields of one of its templates.
func encoded(header, template, spec string) []byte {
	return fmt.Appendf(nil, `{%s"spec":{"template":{"$patch":"replace",%q:{"metadata":{"creationTimestamp":null,"labels":{"app":"web"}},
		"spec":{"selector":null,%s,%s}}}}}`, header, template, pods, spec)
}

// Case uniteddeployment 28.
func TestRevisionOfOpenKruiseIsUsedAgain(t *testing.T) {
	const (
		claim  = `"volumeClaimTemplates":[{"metadata":{"name":"data","creationTimestamp":null},"spec":{"resources":{"requests":{"storage":"1Gi"}}},"status":{}}]`
		shown  = `"volumeClaimTemplates":[{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},"spec":{"resources":{"requests":{"storage":"1Gi"}}}}]`
		reused = `"scaleStrategy":{"enablePVCReuse":true}`
	)
	// stored is the spec in the revision, and read the spec of now as the API returns it.
	for name, test := range map[string]struct{ template, stored, read string }{
		"CloneSet": {
			"cloneSetTemplate", `"scaleStrategy":{},"updateStrategy":{}`, reused + `,"updateStrategy":{}`,
		},
		"CloneSet with a strategy": {
			"cloneSetTemplate",
			`"scaleStrategy":{},"updateStrategy":{"type":"InPlaceIfPossible","partition":2,"maxUnavailable":"20%"}`,
			reused + `,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible","partition":2,"maxUnavailable":"20%"}}`,
		},
		"CloneSet without a type": {
			"cloneSetTemplate", `"scaleStrategy":{},"updateStrategy":{"maxUnavailable":1}`,
			reused + `,"updateStrategy":{"rollingUpdate":{"maxUnavailable":1}}`,
		},
		"CloneSet with claims": {
			"cloneSetTemplate", claim + `,"scaleStrategy":{"disablePVCReuse":true},"updateStrategy":{}`, shown + `,"updateStrategy":{}`,
		},
		"CloneSet in the form of v1beta1": {
			"cloneSetTemplate", `"scaleStrategy":{},"updateStrategy":{"rollingUpdate":{"maxUnavailable":1}}`,
			`"updateStrategy":{"rollingUpdate":{"maxUnavailable":1}}`,
		},
		"StatefulSet": {
			"statefulSetTemplate", claim + `,"serviceName":"","updateStrategy":{}`, shown + `,"updateStrategy":{}`,
		},
		"advanced StatefulSet": {
			"advancedStatefulSetTemplate", claim + `,"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"ReCreate"}}`,
			shown + `,"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"ReCreate"}}`,
		},
		"Deployment": {"deploymentTemplate", `"strategy":{}`, `"strategy":{}`},
	} {
		t.Run(name, func(t *testing.T) {
			var united v1beta1.UnitedDeployment
			require.NoError(t, json.Unmarshal(encoded("", test.template, test.read), &united))
			w := newWorld(t, united.Spec.Template)
			w.settle()
			revisions, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, revisions.Items, 1)
			revisions.Items[0].Data.Raw = encoded("", test.template, test.stored)
			w.Update(&revisions.Items[0])
			w.Writes()
			assert.Empty(t, w.settle(), "no new revision, and no write to a workload")
		})
	}
}

func TestSameTemplate(t *testing.T) {
	const beta = `"apiVersion":"apps.kruise.io/v1beta1","kind":"UnitedDeployment",`
	now := encoded(beta, "cloneSetTemplate", `"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{}`)
	for name, test := range map[string]struct {
		stored []byte
		want   bool
	}{
		"the same bytes":           {now, true},
		"claims are reused":        {encoded("", "cloneSetTemplate", `"scaleStrategy":{},"updateStrategy":{}`), true},
		"claims are not reused":    {encoded("", "cloneSetTemplate", `"scaleStrategy":{"disablePVCReuse":true},"updateStrategy":{}`), false},
		"the default of v1beta1":   {encoded(beta, "cloneSetTemplate", `"scaleStrategy":{},"updateStrategy":{}`), false},
		"another strategy":         {encoded("", "cloneSetTemplate", `"scaleStrategy":{},"updateStrategy":{"partition":1}`), false},
		"another kind of workload": {encoded("", "deploymentTemplate", `"strategy":{}`), false},
		"no template":              {[]byte(`{"spec":{"template":{"spec":{}}}}`), false},
		"an unknown version":       {[]byte(`{"apiVersion":"apps.kruise.io/v9","kind":"UnitedDeployment","spec":{}}`), false},
		"no object":                {[]byte(`[]`), false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, sameTemplate(storing(test.stored, ""), storing(now, "")))
			assert.Equal(t, test.want, sameTemplate(storing(now, ""), storing(test.stored, "")))
		})
	}
}

// Data without a version may have been written with the defaults of either version.
func TestDataWithoutAVersionIsReadAsEither(t *testing.T) {
	const beta = `"apiVersion":"apps.kruise.io/v1beta1","kind":"UnitedDeployment",`
	stored := storing(encoded("", "cloneSetTemplate", `"scaleStrategy":{},"updateStrategy":{}`), "")
	for _, scale := range []string{`{}`, `{"enablePVCReuse":true}`} {
		now := storing(encoded(beta, "cloneSetTemplate", `"scaleStrategy":`+scale+`,"updateStrategy":{}`), "")
		assert.True(t, sameTemplate(stored, now), scale)
		assert.True(t, sameTemplate(now, stored), scale)
	}
}

// storing returns a revision with the data. version is that of its annotation, or "" for a revision of OpenKruise or of an earlier release.
func storing(data []byte, version string) *appsv1.ControllerRevision {
	revision := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}}
	if version != "" {
		revision.Annotations = map[string]string{pub.RevisionDataVersionKey: version}
	}
	return revision
}

// A revision that names its version is read only as that version: an empty field means another value in another version.
func TestRevisionIsReadAsTheVersionThatItNames(t *testing.T) {
	reused := encoded("", "cloneSetTemplate", `"scaleStrategy":{},"updateStrategy":{}`)
	dropped := encoded("", "cloneSetTemplate", `"scaleStrategy":{"disablePVCReuse":true},"updateStrategy":{}`)
	assert.False(t, sameTemplate(storing(reused, "v1alpha1"), storing(dropped, "v1alpha1")))
	assert.True(t, sameTemplate(storing(reused, "v1beta1"), storing(dropped, "v1alpha1")))
	assert.True(t, sameTemplate(storing(reused, ""), storing(dropped, "v1alpha1")))
}

// The data has the form of v1alpha1, does not name it, and has no field of the claims that users do not write.
func TestRevisionHasTheBytesOfOpenKruise(t *testing.T) {
	const (
		meta  = `"metadata":{"creationTimestamp":null,"labels":{"app":"web"}}`
		pods  = `"template":{` + meta + `,"spec":{"containers":[{"image":"web:1","name":"main","resources":{}}]}}`
		claim = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},` +
			`"spec":{"resources":{"requests":{"storage":"1Gi"}}},"status":{}}`
		claims = `"volumeClaimTemplates":[{"metadata":{"creationTimestamp":null,"name":"data"},` +
			`"spec":{"resources":{"requests":{"storage":"1Gi"}}},"status":{}}]`
		rolling = `{"rollingUpdate":{"maxUnavailable":"20%","podUpdatePolicy":"InPlaceIfPossible"},"type":"RollingUpdate"}`
	)
	// read is the template as the API returns it in v1beta1. data is what the revision stores.
	for name, test := range map[string]struct{ annotation, read, data string }{
		"CloneSet": {
			"", `"cloneSetTemplate":{` + meta + `,"spec":{` + pods + `,"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":` + rolling + `}}`,
			`"cloneSetTemplate":{` + meta + `,"spec":{"scaleStrategy":{},"selector":null,` + pods +
				`,"updateStrategy":{"maxUnavailable":"20%","type":"InPlaceIfPossible"}}}`,
		},
		"CloneSet with claims": {
			"", `"cloneSetTemplate":{` + meta + `,"spec":{` + pods + `,"volumeClaimTemplates":[` + claim + `]}}`,
			`"cloneSetTemplate":{` + meta + `,"spec":{"scaleStrategy":{"disablePVCReuse":true},"selector":null,` + pods +
				`,"updateStrategy":{},` + claims + `}}`,
		},
		"CloneSet in the form of v1beta1": {
			"v1beta1", `"cloneSetTemplate":{` + meta + `,"spec":{` + pods + `,"updateStrategy":` + rolling + `}}`,
			`"cloneSetTemplate":{` + meta + `,"spec":{"scaleStrategy":{},"selector":null,` + pods + `,"updateStrategy":` + rolling + `}}`,
		},
		"StatefulSet": {
			"", `"statefulSetTemplate":{` + meta + `,"spec":{` + pods + `,"volumeClaimTemplates":[` + claim + `]}}`,
			`"statefulSetTemplate":{` + meta + `,"spec":{"selector":null,"serviceName":"",` + pods + `,"updateStrategy":{},` + claims + `}}`,
		},
		"advanced StatefulSet": {
			"", `"advancedStatefulSetTemplate":{` + meta + `,"spec":{` + pods + `,"volumeClaimTemplates":[` + claim + `]}}`,
			`"advancedStatefulSetTemplate":{` + meta + `,"spec":{"selector":null,` + pods + `,"updateStrategy":{},` + claims +
				`,"volumeClaimUpdateStrategy":{}}}`,
		},
		"Deployment": {
			"", `"deploymentTemplate":{` + meta + `,"spec":{` + pods + `}}`,
			`"deploymentTemplate":{` + meta + `,"spec":{"selector":null,"strategy":{},` + pods + `}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			// An earlier release wrote the template in v1beta1, and named it.
			earlier := `{"apiVersion":"apps.kruise.io/v1beta1","kind":"UnitedDeployment","spec":{"template":{"$patch":"replace",` + test.read + `}}}`
			var united v1beta1.UnitedDeployment
			require.NoError(t, json.Unmarshal([]byte(earlier), &united))
			w := newWorld(t, united.Spec.Template, func(u *v1beta1.UnitedDeployment) {
				if test.annotation != "" {
					u.Annotations = map[string]string{v1alpha1.CloneSetTemplateFormAnnotation: test.annotation}
				}
			})
			w.settle()
			w.StoresRevision("ns", `{"spec":{"template":{"$patch":"replace",`+test.data+`}}}`, func() { w.Step("ns", "web") }, earlier)
		})
	}
}

// Both templates have almost the same form, and only one of them reuses claims.
func TestChangeOfTheReuseOfClaimsMakesARevision(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	for _, reuse := range []bool{true, false} {
		w.edit(func(u *v1beta1.UnitedDeployment) {
			u.Spec.Template.CloneSetTemplate.Spec.ScaleStrategy.EnablePVCReuse = reuse
		})
		assert.Equal(t, reuse, w.cloneSet("a").Spec.ScaleStrategy.EnablePVCReuse)
	}
	revisions, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, revisions.Items, 2)
}
