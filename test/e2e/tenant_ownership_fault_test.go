//go:build e2e && fault

package e2e

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const (
	// stolenClaims is how many claims of the tenant name the owner of another namespace. The more of them, the more likely is it that one
	// of them is looked at first.
	stolenClaims = 40
	// leftoversTime is longer than the controllers wait before they delete what a deleted object owned.
	leftoversTime = 5 * time.Minute
	// tenantUser is who attacks others.
	tenantUser = "tenant"
)

// asEditor returns the environment of a user who has the role edit in the namespace of the environment, and nothing else.
func (e *env) asEditor() *env {
	e.t.Helper()
	_, err := e.core.RbacV1().RoleBindings(e.namespace).Create(e.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: tenantUser},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: tenantUser, APIGroup: rbacv1.GroupName}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}, metav1.CreateOptions{})
	require.NoError(e.t, err)
	tenant := *e
	tenant.config = rest.CopyConfig(e.config)
	tenant.config.Impersonate = rest.ImpersonationConfig{UserName: tenantUser}
	return tenant.clients()
}

// TestTenantCannotReachOtherNamespaces has a user of one namespace who knows the UIDs of the workloads of another one, and writes them into
// the owner references of claims and Pods, which a finalizer then keeps while they are being deleted. No Pod and no claim of the other
// namespace is deleted, and its workloads replace Pods and scale as before.
func TestTenantCannotReachOtherNamespaces(t *testing.T) {
	e := newEnv(t)
	e.apply(manifest("web", "  template:", "  volumeClaimTemplates:\n  - metadata: {name: data}\n"+
		"    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n  template:"))
	e.ready("web", 3)
	nodes := e.choose()
	e.apply(e.daemonManifest("ds"))
	e.daemonReady("ds", int32(len(nodes)))
	daemons, err := e.kruise.AppsV1beta1().DaemonSets(e.namespace).Get(t.Context(), "ds", metav1.GetOptions{})
	require.NoError(t, err)
	pods, claims := byUID(e.pods("web")), e.claimUIDs()
	require.Len(t, claims, 3)

	tenant := newEnv(t).asEditor()
	tenant.apply(manifest("x", "replicas: 3", "replicas: 0"))
	tenant.apply(tenant.daemonManifest("x"))
	tenant.steal(nodes, map[string]metav1.OwnerReference{
		"web": {APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "x", UID: e.cloneSet("web").UID, Controller: new(true)},
		"ds":  {APIVersion: "apps.kruise.io/v1beta1", Kind: "DaemonSet", Name: "x", UID: daemons.UID, Controller: new(true)},
	})
	select {
	case <-t.Context().Done():
	case <-time.After(leftoversTime):
	}
	assert.Equal(t, slices.Sorted(maps.Keys(pods)), slices.Sorted(maps.Keys(byUID(e.pods("web")))), "no Pod is deleted")
	assert.Equal(t, claims, e.claimUIDs(), "no claim is deleted")
	// The workloads still do their work: a lost Pod comes back, and so does one of a node; more replicas get claims of their own.
	e.kubectl("delete", "pods", "--selector=app=ds", "--wait=false")
	e.kubectl("delete", "pod", e.pods("web")[0].Name, "--wait=false")
	e.kubectl("scale", "clonesets.apps.kruise.io/web", "--replicas=4")
	e.ready("web", 4)
	e.daemonReady("ds", int32(len(nodes)))
	e.eventually("each node has its Pod", func(c *require.Assertions, _ context.Context) { c.Equal(nodes, nodesOf(e.pods("ds"))) })
	assert.Len(t, e.claimUIDs(), 4)
}

// claimUIDs returns the UIDs of the claims that are not being deleted, by name.
func (e *env) claimUIDs() map[string]types.UID {
	e.t.Helper()
	list, err := e.core.CoreV1().PersistentVolumeClaims(e.namespace).List(e.t.Context(), metav1.ListOptions{})
	require.NoError(e.t, err)
	uids := map[string]types.UID{}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			uids[list.Items[i].Name] = list.Items[i].UID
		}
	}
	return uids
}

// steal creates claims and Pods whose controllers are the owners, and deletes them. Their finalizer keeps them.
func (e *env) steal(nodes []string, owners map[string]metav1.OwnerReference) {
	e.t.Helper()
	ctx := e.t.Context()
	meta := func(name, app string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: name, Finalizers: []string{"example.com/keep"}, OwnerReferences: []metav1.OwnerReference{owners[app]},
			Labels: map[string]string{"app": app, "apps.kruise.io/cloneset-instance-id": "zzzzz"},
		}
	}
	claims, pods := e.core.CoreV1().PersistentVolumeClaims(e.namespace), e.core.CoreV1().Pods(e.namespace)
	e.t.Cleanup(func() {
		// Without the finalizers, the objects go with the namespace.
		release := []byte(`{"metadata":{"finalizers":null}}`)
		ctx := context.WithoutCancel(ctx)
		for i := range stolenClaims {
			_, _ = claims.Patch(ctx, sprintf("data-web-%05d", i), types.MergePatchType, release, metav1.PatchOptions{})
		}
		for _, node := range nodes {
			_, _ = pods.Patch(ctx, "ds-"+node, types.MergePatchType, release, metav1.PatchOptions{})
		}
	})
	for i := range stolenClaims {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta(sprintf("data-web-%05d", i), "web"), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}},
		}}
		_, err := claims.Create(ctx, claim, metav1.CreateOptions{})
		require.NoError(e.t, err)
		require.NoError(e.t, claims.Delete(ctx, claim.Name, metav1.DeleteOptions{}))
	}
	for _, node := range nodes {
		pod := &corev1.Pod{ObjectMeta: meta("ds-"+node, "ds"), Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "kruise.local/demo:v1"}},
		}}
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		require.NoError(e.t, err)
		require.NoError(e.t, pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}))
	}
}
