//go:build integration

package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

// editor returns a client of the server for an account that has the verbs on CloneSets.
func (s *server) editor(t *testing.T, namespace, name string, verbs ...string) typed.CloneSetInterface {
	t.Helper()
	return clientFor(t, &rest.Config{
		Host: s.url(), BearerToken: editorToken(t, namespace, name, verbs...), TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}, namespace)
}

// editorToken returns the token of a new account that has the verbs on CloneSets.
func editorToken(t *testing.T, namespace, name string, verbs ...string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := env.kube.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = env.kube.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"apps.kruise.io"}, Resources: []string{"clonesets"}, Verbs: verbs}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = env.kube.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	token, err := env.kube.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	return token.Status.Token
}

// If the plugin is enabled, only users who may delete the object can change its owners, and only users who may finalize the owner
// can set blockOwnerDeletion.
func TestOwnersNeedPermission(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	s := alone(t, "owners", "--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
	admin := s.client(t, namespace)
	owner := create(t, admin, newCloneSet("owner"))
	create(t, admin, newCloneSet("demo"))
	reference := metav1.NewControllerRef(owner, v1beta1.SchemeGroupVersion.WithKind("CloneSet"))
	own := func(client typed.CloneSetInterface, blocks string) error {
		body := `{"metadata":{"ownerReferences":[{"apiVersion":"` + reference.APIVersion + `","kind":"CloneSet","name":"owner",` +
			`"uid":"` + string(reference.UID) + `","blockOwnerDeletion":` + blocks + `}]}}`
		_, err := client.Patch(t.Context(), "demo", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	requireForbidden := func(err error, want string) {
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		assert.ErrorContains(t, err, want)
	}
	with := func(name string, verbs ...string) typed.CloneSetInterface {
		client := s.editor(t, namespace, name, verbs...)
		eventually(t, func() bool { // The role comes a moment later.
			_, err := client.Get(t.Context(), "demo", metav1.GetOptions{})
			return err == nil
		})
		return client
	}
	requireForbidden(own(with("editor", "get", "patch"), "false"), "cannot set an ownerRef on a resource you can't delete")
	deleter := with("deleter", "get", "patch", "delete")
	requireForbidden(own(deleter, "true"), "a resource you can't set finalizers on")
	require.NoError(t, own(deleter, "false"))
	require.NoError(t, own(admin, "true"))
}
