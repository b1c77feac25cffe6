//go:build integration && fault

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// TestTenantFillsEtcd has one tenant fill an external etcd. Others can read and delete, and one command of the operator lets them
// write again when the tenant has deleted objects.
func TestTenantFillsEtcd(t *testing.T) {
	m := startMembers(t, 1)[0]
	m.kill()
	m.args = append(m.args, "--quota-backend-bytes=33554432")
	require.NoError(t, m.start())
	s := alone(t, "tenant", "--etcd-servers="+m.client)
	tenant, other := s.client(t, newNamespace(t)), s.client(t, newNamespace(t))
	create(t, other, newCloneSet("kept"))
	create(t, other, newCloneSet("deleted"))
	written := 0
	large := func() error {
		set := newCloneSet(fmt.Sprintf("large-%d", written))
		set.Annotations = map[string]string{"large": strings.Repeat("x", 200<<10)}
		_, err := tenant.Create(t.Context(), set, metav1.CreateOptions{})
		return err
	}
	for !isFull(t, large()) {
		written++
		require.Less(t, written, 300)
	}
	touch := func() error {
		_, err := other.Patch(t.Context(), "kept", types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`), metav1.PatchOptions{})
		return err
	}
	assert.True(t, isFull(t, touch()), "etcd refuses every write")
	_, err := other.Get(t.Context(), "kept", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, other.Delete(t.Context(), "deleted", metav1.DeleteOptions{}))
	_, err = s.get(t.Context(), "/livez")
	require.NoError(t, err)

	require.NoError(t, tenant.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	assert.Contains(t, operate(t, "defragment", "--etcd-servers="+m.client), "writes are accepted again")
	require.NoError(t, touch())
	t.Logf("%d objects of 200 KiB fitted into 32 MiB", written)
}

// ordinaryUser returns a configuration with all rights, which are in effect, whose requests priority and fairness limits as those of any user.
func ordinaryUser(t *testing.T, name string) *rest.Config {
	t.Helper()
	bindings := env.kube.RbacV1().ClusterRoleBindings()
	binding, err := bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = bindings.Delete(context.WithoutCancel(t.Context()), binding.Name, metav1.DeleteOptions{}) })
	config := rest.CopyConfig(env.config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: name}
	mayCreateCloneSets(t, name)
	return config
}

// mayCreateCloneSets waits until kube-apiserver knows that a user may create CloneSets.
func mayCreateCloneSets(t *testing.T, user string) {
	t.Helper()
	eventually(t, func() bool {
		review, err := env.kube.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: "create", Group: "apps.kruise.io", Resource: "clonesets", Namespace: "default",
			}},
		}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed
	})
}

// asKubernetes is how many times more than the same flood of ConfigMaps, which kube-apiserver serves alone, a flood of Kruise objects may
// delay others. All programs and clients share the cores of the machine.
const asKubernetes = 2

// flood is a user who creates objects with 16 clients at once, and another user who updates and reads one object of the same kind.
type flood struct {
	name    string
	objects int64
	create  func(ctx context.Context, number int64) error
	request func(i int) error
	// failed is how many requests of the other user have failed.
	failed int
}

// delays returns by which factor the flood delays the other user. It is compared with the slower one of the times before and after it.
func (f *flood) delays(t *testing.T) float64 {
	t.Helper()
	measure(50, f.request)
	quiet := measure(300, f.request)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var next, refused atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for number := next.Add(1); number <= f.objects && ctx.Err() == nil; number = next.Add(1) {
				if err := f.create(ctx, number); err != nil {
					refused.Add(1)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { defer close(ended); group.Wait() }()
	busy := measureUntil(ended, 300, f.request)
	tried := min(next.Load(), f.objects)
	<-ended
	after := measure(300, f.request)
	factor := float64(busy.median) / float64(max(quiet.median, after.median))
	t.Logf("%s: quiet: %s; busy: %s: %.1f times; meanwhile %d were tried, %d refused; quiet again: %s",
		f.name, quiet, busy, factor, tried, refused.Load(), after)
	f.failed += busy.failed
	assert.Greater(t, busy.count, 10, "%s: the flood is over too soon", f.name)
	return factor
}

// TestOneUserDoesNotBlockOthers has one user create 10,000 objects, and then objects of a megabyte. Others are delayed about as much as
// Kubernetes delays them beside the same number of ConfigMaps of the same size, and hardly with a limit for each user.
func TestOneUserDoesNotBlockOthers(t *testing.T) {
	bob, alice, namespace := ordinaryUser(t, "bob"), ordinaryUser(t, "alice"), newNamespace(t)
	patch := func(i int) []byte { return fmt.Appendf(nil, `{"metadata":{"annotations":{"a":"%d"}}}`, i) }

	flooded := clientFor(t, alice, newNamespace(t))
	sets := clientFor(t, bob, namespace)
	size := create(t, sets, newCloneSet("demo")).Size()
	clones := func(name string, objects int64, bytes int) *flood {
		return &flood{name: name, objects: objects, create: func(ctx context.Context, number int64) error {
			set := newCloneSet(fmt.Sprintf("many-%d-%d", bytes, number))
			// A user's annotations may have 256 KiB in total, so the megabyte is in the template.
			set.Spec.Template.Spec.Containers[0].Command = []string{strings.Repeat("x", bytes)}
			_, err := flooded.Create(ctx, set, metav1.CreateOptions{})
			return err
		}, request: func(i int) error {
			if _, err := sets.Patch(t.Context(), "demo", types.MergePatchType, patch(i), metav1.PatchOptions{}); err != nil {
				return err
			}
			_, err := sets.Get(t.Context(), "demo", metav1.GetOptions{})
			return err
		}}
	}
	configMap := func(name string, bytes int) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"data": strings.Repeat("x", bytes)}}
	}
	aliceMaps, bobMaps := coreOf(t, alice).ConfigMaps(newNamespace(t)), coreOf(t, bob).ConfigMaps(namespace)
	_, err := bobMaps.Create(t.Context(), configMap("demo", size), metav1.CreateOptions{})
	require.NoError(t, err)
	maps := func(name string, objects int64, bytes int) *flood {
		return &flood{name: name, objects: objects, create: func(ctx context.Context, number int64) error {
			_, err := aliceMaps.Create(ctx, configMap(fmt.Sprint("many-", number), bytes), metav1.CreateOptions{})
			return err
		}, request: func(i int) error {
			if _, err := bobMaps.Patch(t.Context(), "demo", types.MergePatchType, patch(i), metav1.PatchOptions{}); err != nil {
				return err
			}
			_, err := bobMaps.Get(t.Context(), "demo", metav1.GetOptions{})
			return err
		}}
	}
	// Each try deletes some: the server ends requests after a minute.
	empty := func(delete func(context.Context, metav1.DeleteOptions, metav1.ListOptions) error) {
		eventually(t, func() bool { return delete(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}) == nil })
	}
	// A busy machine changes both factors.
	compare := func(ours, usual *flood) (factor float64) {
		asUsual := func() float64 {
			defer empty(aliceMaps.DeleteCollection)
			return usual.delays(t)
		}
		before := asUsual()
		factor = ours.delays(t)
		empty(flooded.DeleteCollection)
		assert.Less(t, factor, asKubernetes*max(before, asUsual()), ours.name)
		assert.Zero(t, ours.failed, ours.name)
		return factor
	}
	factor := compare(clones("10,000 CloneSets", 10_000, 0), maps("10,000 ConfigMaps", 10_000, size))
	// All data of a ConfigMap may have a megabyte.
	compare(clones("CloneSets of 1 MB", 200, 1<<20), maps("ConfigMaps of 1 MB", 200, 1<<20-len("data")))

	restartWith(t, "--user-writes-per-second=50")
	limited := clones("CloneSets, at most 50 in a second", 500, 1)
	assert.Less(t, limited.delays(t), max(2.0, factor/2), "50 objects in a second are much for a slow machine too")
	assert.Zero(t, limited.failed)
	list, err := flooded.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, list.Items, 500, "clients repeat what the server refuses")
	empty(flooded.DeleteCollection)
}

// restartWith gives the shared server more flags until the end of the test.
func restartWith(t *testing.T, args ...string) {
	t.Helper()
	restart := func(ctx context.Context) {
		env.server.stop()
		require.NoError(t, env.server.start(ctx))
		require.NoError(t, env.server.publish(ctx))
	}
	before := env.server.args
	env.server.args = slices.Concat(before, args)
	restart(t.Context())
	t.Cleanup(func() {
		env.server.args = before
		restart(context.WithoutCancel(t.Context()))
	})
}

func coreOf(t *testing.T, config *rest.Config) corev1client.CoreV1Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client.CoreV1()
}
