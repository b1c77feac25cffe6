package install_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/install"
	"kruise.io/kruise/pkg/apis/pub"
)

func TestDefaultNodeImage(t *testing.T) {
	then := metav1.NewTime(time.Unix(1000, 0))
	with := func(tag apps.ImageTagSpec) *apps.NodeImage {
		return &apps.NodeImage{Spec: apps.NodeImageSpec{Images: map[string]apps.ImageSpec{"nginx": {Tags: []apps.ImageTagSpec{tag}}}}}
	}
	stored := with(apps.ImageTagSpec{Tag: "a", Version: 3, CreatedAt: &then})
	before := with(apps.ImageTagSpec{Tag: "a", Version: 3, CreatedAt: new(metav1.NewTime(time.Unix(999, 0)))})
	for name, test := range map[string]struct {
		old     *apps.NodeImage
		written apps.ImageTagSpec
		isThen  bool
	}{
		"create":                 {nil, apps.ImageTagSpec{Tag: "a"}, false},
		"create with a time":     {nil, apps.ImageTagSpec{Tag: "a", CreatedAt: &then}, true},
		"another tag":            {stored, apps.ImageTagSpec{Tag: "b", Version: 3}, false},
		"left out by the writer": {stored, apps.ImageTagSpec{Tag: "a", Version: 3}, true},
		"asked for again":        {stored, apps.ImageTagSpec{Tag: "a", Version: 4}, false},
		"read, and a version up": {stored, apps.ImageTagSpec{Tag: "a", Version: 4, CreatedAt: &then}, false},
		"read, and written back": {stored, apps.ImageTagSpec{Tag: "a", Version: 3, CreatedAt: &then}, true},
		"asked for at a time":    {before, apps.ImageTagSpec{Tag: "a", Version: 4, CreatedAt: &then}, true},
	} {
		t.Run(name, func(t *testing.T) {
			nodeImage := with(test.written)
			install.DefaultNodeImage(nodeImage, test.old)
			got := nodeImage.Spec.Images["nginx"].Tags[0].CreatedAt
			require.NotNil(t, got)
			if test.isThen {
				require.Equal(t, then, *got)
				return
			}
			require.WithinDuration(t, time.Now(), got.Time, time.Minute)
			require.Zero(t, got.Nanosecond(), "the store keeps whole seconds")
		})
	}
}

func TestDefaultImagePullJob(t *testing.T) {
	job := func(secrets, finalizers []string) *apps.ImagePullJob {
		return &apps.ImagePullJob{
			ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers},
			Spec:       apps.ImagePullJobSpec{ImagePullJobTemplate: apps.ImagePullJobTemplate{PullSecrets: secrets}},
		}
	}
	secrets, protected := []string{"s"}, []string{"apps.kruise.io/deletion-protection"}
	for name, test := range map[string]struct {
		written, old *apps.ImagePullJob
		want         []string
	}{
		"with secrets":    {job(secrets, nil), nil, protected},
		"another is kept": {job(secrets, []string{"a/b"}), nil, []string{"a/b", pub.DeletionProtectionFinalizer}},
		"it is there":     {job(secrets, protected), nil, protected},
		"without secrets": {job(nil, nil), nil, protected},
		"update":          {job(secrets, nil), job(secrets, nil), nil},
	} {
		t.Run(name, func(t *testing.T) {
			install.DefaultImagePullJob(test.written, test.old)
			assert.Equal(t, test.want, test.written.Finalizers)
		})
	}
}
