//go:build integration && fault

package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
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

// ordinaryUser is a client with all rights, whose requests priority and fairness limits as those of any user.
func ordinaryUser(t *testing.T, name, namespace string) typed.CloneSetInterface {
	t.Helper()
	bindings := env.kube.RbacV1().ClusterRoleBindings()
	_, err := bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = bindings.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}) })
	config := rest.CopyConfig(env.config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: name}
	return clientFor(t, config, namespace)
}

// bearable is the median that another user may see while one user writes as much as the machine can take. All programs and clients
// share its cores, so the figures say how the rest is divided.
const bearable = 500 * time.Millisecond

// TestOneUserDoesNotBlockOthers has one user create 10,000 objects, and then objects of a megabyte, with 16 clients at once.
func TestOneUserDoesNotBlockOthers(t *testing.T) {
	bob, alice := ordinaryUser(t, "bob", newNamespace(t)), ordinaryUser(t, "alice", newNamespace(t))
	create(t, bob, newCloneSet("demo"))
	request := func(i int) error {
		_, err := bob.Patch(t.Context(), "demo", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"a":"%d"}}}`, i), metav1.PatchOptions{})
		if err == nil {
			_, err = bob.Get(t.Context(), "demo", metav1.GetOptions{})
		}
		return err
	}
	measure(50, request)
	quiet := measure(300, request)
	t.Logf("quiet: %s", quiet)
	for _, scenario := range []struct {
		name           string
		objects, bytes int
	}{{"10,000 objects", 10_000, 0}, {"objects of 1 MB", 200, 1 << 20}} {
		ctx, stop := context.WithCancel(t.Context())
		var next, refused atomic.Int64
		var group sync.WaitGroup
		done := make(chan struct{})
		for range 16 {
			group.Go(func() {
				for number := next.Add(1); number <= int64(scenario.objects) && ctx.Err() == nil; number = next.Add(1) {
					set := newCloneSet(fmt.Sprintf("many-%d-%d", scenario.bytes, number))
					// A user's annotations may have 256 KiB in total, so the megabyte is in the template.
					set.Spec.Template.Spec.Containers[0].Command = []string{strings.Repeat("x", scenario.bytes)}
					if _, err := alice.Create(ctx, set, metav1.CreateOptions{}); err != nil {
						refused.Add(1)
					}
				}
			})
		}
		go func() { group.Wait(); close(done) }()
		busy := measure(300, request)
		t.Logf("%s: %s; meanwhile %d were tried, %d refused", scenario.name, busy, min(next.Load(), int64(scenario.objects)), refused.Load())
		assert.Zero(t, busy.failed, scenario.name)
		assert.Less(t, busy.median, bearable, scenario.name)
		<-done
		stop()
	}
	require.NoError(t, alice.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}
