//go:build integration && fault

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kruise.io/kruise/pkg/apis/apps/v1alpha1"
	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	policyv1beta1 "kruise.io/kruise/pkg/apis/policy/v1beta1"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
)

// filler fills a store with objects of one kind, in one way.
type filler struct {
	// prepare creates a small object, and may be nil. fill writes the large one, and remove deletes it.
	prepare, fill, remove func(ctx context.Context, i int) error
}

// fillers returns the ways in which users and our own controllers make a store full.
func fillers(client versioned.Interface, namespace string) map[string]filler {
	large := strings.Repeat("x", 200<<10)
	sets, nodes, probes := client.AppsV1beta1().CloneSets(namespace), client.AppsV1beta1().NodeImages(), client.AppsV1alpha1().NodePodProbes()
	name := func(i int) string { return fmt.Sprintf("full-%d", i) }
	apply := func(ctx context.Context, i int, large string) error {
		manifest := fmt.Appendf(nil, `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":%q,"annotations":{"a":%[2]q,"b":%[2]q,"c":%[2]q}},
			"spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`,
			name(i), large)
		_, err := sets.Patch(ctx, name(i), types.ApplyPatchType, manifest, metav1.PatchOptions{FieldManager: "test", Force: new(true)})
		return err
	}
	removeSet := func(ctx context.Context, i int) error { return sets.Delete(ctx, name(i), metav1.DeleteOptions{}) }
	small := large[:80<<10] // The annotations of an object have at most 256 KiB.
	return map[string]filler{
		"apply": {nil, func(ctx context.Context, i int) error { return apply(ctx, i, small) }, removeSet},
		"growth": {
			func(ctx context.Context, i int) error { return apply(ctx, i, "") },
			func(ctx context.Context, i int) error {
				set, err := sets.Get(ctx, name(i), metav1.GetOptions{})
				if err != nil {
					return err
				}
				set.Spec.Template.Spec.Containers[0].Args = []string{large, large, large}
				_, err = sets.Update(ctx, set, metav1.UpdateOptions{})
				return err
			}, removeSet,
		},
		"probes": {
			func(ctx context.Context, i int) error {
				_, err := probes.Create(ctx, &v1alpha1.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: name(i)}}, metav1.CreateOptions{})
				return err
			},
			func(ctx context.Context, i int) error {
				probe, err := probes.Get(ctx, name(i), metav1.GetOptions{})
				if err != nil {
					return err
				}
				probe.Spec.PodProbes = []v1alpha1.PodProbe{{Namespace: namespace, Name: "a", UID: "b", Probes: []v1alpha1.ContainerProbe{{
					Name: "p", ContainerName: "main", Probe: v1alpha1.ContainerProbeSpec{Probe: corev1.Probe{ProbeHandler: corev1.ProbeHandler{
						Exec: &corev1.ExecAction{Command: []string{large, large}},
					}}},
				}}}}
				_, err = probes.Update(ctx, probe, metav1.UpdateOptions{})
				return err
			},
			func(ctx context.Context, i int) error { return probes.Delete(ctx, name(i), metav1.DeleteOptions{}) },
		},
		"image pulls": {
			func(ctx context.Context, i int) error {
				_, err := nodes.Create(ctx, &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: name(i)}}, metav1.CreateOptions{})
				return err
			},
			func(ctx context.Context, i int) error {
				node, err := nodes.Get(ctx, name(i), metav1.GetOptions{})
				if err != nil {
					return err
				}
				node.Spec.Images = map[string]v1beta1.ImageSpec{}
				for image := range 40 {
					node.Spec.Images[fmt.Sprintf("example.com/app-%d", image)] = v1beta1.ImageSpec{
						Tags:          []v1beta1.ImageTagSpec{{Tag: "1", PullPolicy: &v1beta1.ImageTagPullPolicy{TTLSecondsAfterFinished: new(int32(3600))}}},
						SandboxConfig: &v1beta1.SandboxConfig{Annotations: map[string]string{"a": large[:15<<10]}},
					}
				}
				_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
				return err
			},
			func(ctx context.Context, i int) error { return nodes.Delete(ctx, name(i), metav1.DeleteOptions{}) },
		},
	}
}

// TestStoreIsFilledInEachWay fills a store of the default size by creations with server-side apply, by objects that grow, and by the copies that
// controllers make for nodes. Everybody can still delete, report a status, release a finalizer and get a grant of a budget, and the store
// recovers by deletions.
func TestStoreIsFilledInEachWay(t *testing.T) {
	for _, way := range []string{"apply", "growth", "probes", "image pulls"} {
		t.Run(way, func(t *testing.T) {
			namespace := newNamespace(t)
			s := alone(t, "filled-"+strings.ReplaceAll(way, " ", "-"), "--data-quota-bytes=268435456")
			client, ctx := s.clientset(t), t.Context()
			f := fillers(client, namespace)[way]
			set := newCloneSet("others")
			set.Finalizers = []string{"example.com/held"}
			_, err := client.AppsV1beta1().CloneSets(namespace).Create(ctx, set, metav1.CreateOptions{})
			require.NoError(t, err)
			_, err = client.PolicyV1beta1().PodUnavailableBudgets(namespace).Create(ctx, &policyv1beta1.PodUnavailableBudget{
				ObjectMeta: metav1.ObjectMeta{Name: "others"},
				Spec:       policyv1beta1.PodUnavailableBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}, MaxUnavailable: new(intstr.FromInt32(1))},
			}, metav1.CreateOptions{})
			require.NoError(t, err)

			const most = 1200
			for i := range most {
				if f.prepare != nil {
					require.NoError(t, f.prepare(ctx, i))
				}
			}
			filled := 0
			for !isFull(t, f.fill(ctx, filled)) {
				filled++
				require.Less(t, filled, most, "more than the quota fits into the store")
			}
			t.Logf("%d objects fill the store", filled)

			for i := range 50 {
				status := fmt.Appendf(nil, `{"status":{"observedGeneration":%d,"disruptedPods":{"a-%d":"2026-01-01T00:00:00Z"}}}`, i, i)
				_, err := client.PolicyV1beta1().PodUnavailableBudgets(namespace).Patch(ctx, "others", types.MergePatchType, status, metav1.PatchOptions{}, "status")
				require.NoError(t, err, "a grant of a budget")
			}
			sets := client.AppsV1beta1().CloneSets(namespace)
			_, err = sets.Patch(ctx, "others", types.MergePatchType, []byte(`{"status":{"replicas":3,"observedGeneration":1}}`), metav1.PatchOptions{}, "status")
			require.NoError(t, err)
			require.NoError(t, sets.Delete(ctx, "others", metav1.DeleteOptions{}))
			_, err = sets.Patch(ctx, "others", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			require.NoError(t, err)
			for i := range filled / 2 {
				err := f.remove(ctx, i)
				require.True(t, err == nil || apierrors.IsNotFound(err) || timedOut(err), "%v", err)
			}
			eventually(t, func() bool { return f.fill(ctx, filled) == nil })
			assert.NoError(t, s.logsNoBug())
		})
	}
}
