package uniteddeployment

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// pods is the Pod template of the revisions below, in the encoding of an older Kubernetes.
const pods = `"template":{"metadata":{"creationTimestamp":null,"labels":{"app":"web"}},
	"spec":{"containers":[{"name":"main","image":"web:1","resources":{}}]}}`

// dataOf returns the data of a revision with the fields of one of its templates.
func dataOf(header, template, spec string) []byte {
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
			require.NoError(t, json.Unmarshal(dataOf("", test.template, test.read), &united))
			w := newWorld(t, united.Spec.Template)
			w.settle()
			revisions, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, revisions.Items, 1)
			revisions.Items[0].Data.Raw = dataOf("", test.template, test.stored)
			w.Update(&revisions.Items[0])
			w.Writes()
			assert.Empty(t, w.settle(), "no new revision, and no write to a workload")
		})
	}
}

func TestSameTemplate(t *testing.T) {
	const beta = `"apiVersion":"apps.kruise.io/v1beta1","kind":"UnitedDeployment",`
	now := dataOf(beta, "cloneSetTemplate", `"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{}`)
	for name, test := range map[string]struct {
		stored []byte
		want   bool
	}{
		"the same bytes":           {now, true},
		"claims are reused":        {dataOf("", "cloneSetTemplate", `"scaleStrategy":{},"updateStrategy":{}`), true},
		"claims are not reused":    {dataOf("", "cloneSetTemplate", `"scaleStrategy":{"disablePVCReuse":true},"updateStrategy":{}`), false},
		"the default of v1beta1":   {dataOf(beta, "cloneSetTemplate", `"scaleStrategy":{},"updateStrategy":{}`), false},
		"another strategy":         {dataOf("", "cloneSetTemplate", `"scaleStrategy":{},"updateStrategy":{"partition":1}`), false},
		"another kind of workload": {dataOf("", "deploymentTemplate", `"strategy":{}`), false},
		"no template":              {[]byte(`{"spec":{"template":{"spec":{}}}}`), false},
		"an unknown version":       {[]byte(`{"apiVersion":"apps.kruise.io/v9","kind":"UnitedDeployment","spec":{}}`), false},
		"no object":                {[]byte(`[]`), false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, sameTemplate(test.stored, now))
			assert.Equal(t, test.want, sameTemplate(now, test.stored))
		})
	}
}

// Data without a version may have been written with the defaults of either version.
func TestDataWithoutAVersionIsReadAsEither(t *testing.T) {
	const beta = `"apiVersion":"apps.kruise.io/v1beta1","kind":"UnitedDeployment",`
	stored := dataOf("", "cloneSetTemplate", `"scaleStrategy":{},"updateStrategy":{}`)
	for _, scale := range []string{`{}`, `{"enablePVCReuse":true}`} {
		now := dataOf(beta, "cloneSetTemplate", `"scaleStrategy":`+scale+`,"updateStrategy":{}`)
		assert.True(t, sameTemplate(stored, now), scale)
		assert.True(t, sameTemplate(now, stored), scale)
	}
}

// The form of the data depends on the version, so the data says which version it has.
func TestDataOfARevisionNamesItsVersion(t *testing.T) {
	w := newWorld(t, ofCloneSets())
	w.settle()
	revisions, err := w.Kube.AppsV1().ControllerRevisions("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var named metav1.TypeMeta
	require.NoError(t, json.Unmarshal(revisions.Items[0].Data.Raw, &named))
	assert.Equal(t, metav1.TypeMeta{APIVersion: "apps.kruise.io/v1beta1", Kind: "UnitedDeployment"}, named)
}
