package claimexpansion

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/features"
)

func claim(name, size string, class *string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: class,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	}
}

func set(claims ...corev1.PersistentVolumeClaim) *apps.StatefulSet {
	result := &apps.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "ns"}}
	result.Spec.VolumeClaimUpdateStrategy.Type = apps.OnPodRollingUpdateVolumeClaimUpdateStrategyType
	result.Spec.VolumeClaimTemplates = claims
	return result
}

func class(name string, expands *bool, age int64, isDefaultText string) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1000-age, 0)), Annotations: map[string]string{isDefault: isDefaultText},
		},
		AllowVolumeExpansion: expands,
	}
}

func attributes(obj, old runtime.Object, subresource string) admission.Attributes {
	return admission.NewAttributesRecord(obj, old, apps.Kind("StatefulSet").WithVersion("v1beta1"), "ns", "demo",
		apps.Resource("statefulsets").WithVersion("v1beta1"), subresource, admission.Update, nil, false, nil)
}

func resizing(t *testing.T, on bool) featuregate.FeatureGate {
	t.Helper()
	gate, err := features.New("")
	require.NoError(t, err)
	require.NoError(t, gate.SetFromMap(map[string]bool{string(features.StatefulSetAutoResizePVCGate): on}))
	return gate
}

func newPlugin(t *testing.T, classes ...runtime.Object) (*Plugin, *fake.Clientset) {
	t.Helper()
	plugin, client := New(), fake.NewClientset(classes...)
	require.Error(t, plugin.ValidateInitialization())
	plugin.SetExternalKubeClientSet(client)
	require.Error(t, plugin.ValidateInitialization())
	plugin.SetKruiseFeatures(resizing(t, true))
	require.NoError(t, plugin.ValidateInitialization())
	return plugin, client
}

// Case statefulset 38.
func TestLargerClaims(t *testing.T) {
	onDelete := func(set *apps.StatefulSet) *apps.StatefulSet {
		set.Spec.VolumeClaimUpdateStrategy.Type = apps.OnDeleteVolumeClaimUpdateStrategyType
		return set
	}
	const (
		path = "spec.volumeClaimTemplates[a].spec.resources.requests.storage: "
		at   = path + "Forbidden: "
	)
	limited := claim("a", "1Gi", new("fixed"))
	limited.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("3Gi")}
	yes, no := new(true), new(false)
	named := []runtime.Object{class("grows", yes, 0, "false"), class("fixed", no, 0, "false"), class("silent", nil, 0, "false")}
	tests := map[string]struct {
		classes     []runtime.Object
		set, old    *apps.StatefulSet
		subresource string
		want        string
	}{
		"the class can": {named, set(claim("a", "2Gi", new("grows"))), set(claim("a", "1Gi", new("grows"))), "", ""},
		"the class cannot": {named, set(claim("a", "2Gi", new("fixed"))), set(claim("a", "1Gi", new("fixed"))), "",
			at + "StorageClass fixed does not allow volume expansion; put 1Gi back"},
		"it does not say":    {named, set(claim("a", "2Gi", new("silent"))), set(claim("a", "1Gi", new("silent"))), "", at + "StorageClass silent does not"},
		"there is no such":   {named, set(claim("a", "2Gi", new("gone"))), set(claim("a", "1Gi", new("gone"))), "", path + `Invalid value: "2Gi": there is no StorageClass gone`},
		"no class":           {named, set(claim("a", "2Gi", new(""))), set(claim("a", "1Gi", new(""))), "", ""},
		"no default class":   {named, set(claim("a", "2Gi", nil)), set(claim("a", "1Gi", nil)), "", ""},
		"the same":           {named, set(claim("a", "1024Mi", new("fixed"))), set(claim("a", "1Gi", new("fixed"))), "", ""},
		"smaller, it can":    {named, set(claim("a", "1Gi", new("grows"))), set(claim("a", "2Gi", new("grows"))), "", ""},
		"smaller":            {named, set(claim("a", "1Gi", new("fixed"))), set(claim("a", "2Gi", new("fixed"))), "", at + "StorageClass fixed does not"},
		"another limit":      {named, set(limited), set(claim("a", "1Gi", new("fixed"))), "", at + "StorageClass fixed does not"},
		"another claim":      {named, set(claim("b", "2Gi", new("fixed"))), set(claim("a", "1Gi", new("fixed"))), "", ""},
		"with OnDelete":      {named, onDelete(set(claim("a", "2Gi", new("fixed")))), set(claim("a", "1Gi", new("fixed"))), "", ""},
		"status":             {named, set(claim("a", "2Gi", new("fixed"))), set(claim("a", "1Gi", new("fixed"))), "status", ""},
		"the default can":    {[]runtime.Object{class("d", yes, 0, "true"), class("fixed", no, 0, "false")}, set(claim("a", "2Gi", nil)), set(claim("a", "1Gi", nil)), "", ""},
		"the default cannot": {[]runtime.Object{class("d", no, 0, "true"), class("grows", yes, 0, "false")}, set(claim("a", "2Gi", nil)), set(claim("a", "1Gi", nil)), "", at + "the cluster's default StorageClass d does not"},
		"of two defaults the newest": {
			[]runtime.Object{class("a", yes, 9, "true"), class("b", no, 1, "true"), class("c", yes, 5, "true")},
			set(claim("a", "2Gi", nil)), set(claim("a", "1Gi", nil)), "", at + "the cluster's default StorageClass b does not",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plugin, _ := newPlugin(t, test.classes...)
			err := plugin.Validate(t.Context(), attributes(test.set, test.old, test.subresource), nil)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestOtherRequestsAreIgnored(t *testing.T) {
	plugin, client := newPlugin(t)
	require.NoError(t, plugin.Validate(t.Context(), attributes(&apps.CloneSet{}, &apps.CloneSet{}, ""), nil))
	require.NoError(t, plugin.Validate(t.Context(), attributes(set(claim("a", "1Gi", nil)), set(claim("a", "1Gi", nil)), ""), nil))
	assert.Empty(t, client.Actions(), "nothing is read where no claim grows")
}

func TestNothingIsCheckedWithoutTheGate(t *testing.T) {
	plugin, client := newPlugin(t)
	plugin.SetKruiseFeatures(resizing(t, false))
	require.NoError(t, plugin.Validate(t.Context(), attributes(set(claim("a", "2Gi", new("gone"))), set(claim("a", "1Gi", new("gone"))), ""), nil))
	assert.Empty(t, client.Actions())
}

func TestUnansweredReadsRefuse(t *testing.T) {
	for name, of := range map[string]*string{"get": new("fixed"), "list": nil} {
		plugin, client := newPlugin(t)
		client.PrependReactor(name, "storageclasses", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("no route to host")
		})
		err := plugin.Validate(t.Context(), attributes(set(claim("a", "2Gi", of)), set(claim("a", "1Gi", of)), ""), nil)
		require.True(t, apierrors.IsInternalError(err), "%v", err)
		assert.ErrorContains(t, err, "no route to host")
	}
}
