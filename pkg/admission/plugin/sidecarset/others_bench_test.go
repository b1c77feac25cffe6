package sidecarset

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// BenchmarkConflicts checks an update beside other SidecarSets, from the bytes of the list to the answer. The server also encodes the
// list, which takes about as long as to decode it.
func BenchmarkConflicts(b *testing.B) {
	for _, count := range []int{10, 100, 500} {
		var list v1beta1.SidecarSetList
		for i := range count {
			set := stored(fmt.Sprintf("set-%d", i), nil, fmt.Sprintf("agent-%d", i))
			set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("app-%d", i%50)}}
			list.Items = append(list.Items, *set)
		}
		data, err := list.Marshal()
		require.NoError(b, err)
		plugin := New()
		plugin.SetExternalKubeClientSet(fake.NewClientset())
		set, old := newSet(func(s *apps.SidecarSet) { s.Spec.Containers[0].Image = "b" }), newSet(nil)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			for b.Loop() {
				var read v1beta1.SidecarSetList
				require.NoError(b, read.Unmarshal(data))
				others, err := internal(read.Items)
				require.NoError(b, err)
				errs, err := plugin.conflicts(b.Context(), set, old, others)
				require.NoError(b, err)
				require.Empty(b, errs)
			}
		})
	}
}
