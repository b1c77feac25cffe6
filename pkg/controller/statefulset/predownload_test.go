package statefulset

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// pulls returns the images of the ImagePullJobs.
func (w *world) pulls() (images []string) {
	w.t.Helper()
	list, err := w.Kruise.AppsV1beta1().ImagePullJobs("ns").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for i := range list.Items {
		images = append(images, list.Items[i].Spec.Image)
	}
	w.Kruise.ClearActions()
	return images
}

func TestImagesArePulledAheadOfAnUpdate(t *testing.T) {
	for name, tc := range map[string]struct {
		gate     string
		replicas int32
		edits    []edit
		want     []string
	}{
		"in place":           {"true", 4, []edit{inPlace}, []string{"app:2"}},
		"without the gate":   {"false", 4, []edit{inPlace}, nil},
		"by recreation":      {"true", 4, nil, nil},
		"few replicas":       {"true", 3, []edit{inPlace}, nil},
		"all Pods at once":   {"true", 4, []edit{inPlace, parallel, maxUnavailable("100%")}, nil},
		"a partition of two": {"true", 4, []edit{inPlace, partition(2)}, []string{"app:2"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := rolled(t, "PreDownloadImageForInPlaceUpdate="+tc.gate, newSet(tc.replicas, tc.edits...))
			w.edit(image("app:2"))
			w.step()
			w.step()
			assert.Equal(t, tc.want, w.pulls())
			w.edit(func(s *v1beta1.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Partition = new(int32) })
			w.settle()
			assert.Empty(t, w.pulls(), "the jobs go when the update is complete")
		})
	}
}
