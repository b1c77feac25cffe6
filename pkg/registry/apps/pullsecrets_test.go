package apps

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

// oneImage replaces the store of NodeImages.
type oneImage struct {
	genericrest.Storage
	image *apps.NodeImage
}

func (o oneImage) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if name != o.image.Name {
		return nil, apierrors.NewNotFound(apps.Resource("nodeimages"), name)
	}
	return o.image, nil
}

func TestPullSecretsAreThoseThatTheNodeImageNames(t *testing.T) {
	const namespace = "kruise-daemon-config"
	ref := func(namespace, name string) apps.ReferenceObject {
		return apps.ReferenceObject{Namespace: namespace, Name: name}
	}
	image := &apps.NodeImage{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Spec: apps.NodeImageSpec{Images: map[string]apps.ImageSpec{
			"nginx": {PullSecrets: []apps.ReferenceObject{ref(namespace, "b"), ref(namespace, "gone"), ref("other", "c")}},
			"redis": {PullSecrets: []apps.ReferenceObject{ref(namespace, "a"), ref(namespace, "b"), ref(namespace, "")}},
		}},
	}
	stored := map[string]*corev1.Secret{}
	for _, name := range []string{"a", "b", "c", "d"} {
		stored[name] = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
			Data:       map[string][]byte{"key": []byte(name)},
		}
	}
	// broken is what reads of the Secret breaks return, or of any Secret if that is empty.
	var broken error
	breaks := ""
	storage := map[string]genericrest.Storage{"nodeimages": oneImage{image: image}}
	secrets := &PullSecrets{Namespace: namespace, Read: func(_ context.Context, name string) (*corev1.Secret, error) {
		if broken != nil && (breaks == "" || breaks == name) {
			return nil, broken
		}
		if secret := stored[name]; secret != nil {
			return secret.DeepCopy(), nil
		}
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}}
	extend(t, secrets, storage)
	path := storage[PullSecretsPath].(genericrest.Getter)

	object, err := path.Get(t.Context(), "n1", &metav1.GetOptions{})
	require.NoError(t, err)
	var got []string
	for _, secret := range object.(*corev1.SecretList).Items {
		got = append(got, string(secret.Data["key"]))
		assert.Empty(t, secret.ManagedFields)
	}
	assert.Equal(t, []string{"a", "b"}, got, "what it names, of this namespace, once each")

	_, err = path.Get(t.Context(), "n2", &metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	for _, test := range []struct {
		broken error
		code   int32
		want   string
	}{
		{errors.New("connection lost"), http.StatusServiceUnavailable, "read Secret kruise-daemon-config/a: connection lost"},
		{apierrors.NewInternalError(errors.New("etcd")), http.StatusServiceUnavailable, "read Secret kruise-daemon-config/a: "},
		{apierrors.NewForbidden(corev1.Resource("secrets"), "a", errors.New("no access")), http.StatusForbidden, `secrets "a" is forbidden: no access`},
		{apierrors.NewTooManyRequests("later", 1), http.StatusTooManyRequests, "later"},
	} {
		broken = test.broken
		_, err = path.Get(t.Context(), "n1", &metav1.GetOptions{})
		require.ErrorContains(t, err, test.want)
		status, ok := err.(apierrors.APIStatus)
		require.True(t, ok, "%T", err)
		assert.Equal(t, test.code, status.Status().Code)
	}

	breaks = "a"
	for name, test := range map[string]struct {
		broken error
		want   []string
	}{
		"not allowed":                     {apierrors.NewForbidden(corev1.Resource("secrets"), "a", errors.New("no access")), []string{"b"}},
		"not readable":                    {apierrors.NewInternalError(errors.New("failed to decrypt")), []string{"b"}},
		"the host cluster is unreachable": {errors.New("connection lost"), nil},
		"the host cluster is slow":        {apierrors.NewTimeoutError("etcd", 1), nil},
		"the host cluster is busy":        {apierrors.NewTooManyRequests("later", 1), nil},
	} {
		broken, got = test.broken, nil
		object, err := path.Get(t.Context(), "n1", &metav1.GetOptions{})
		assert.Equal(t, test.want == nil, err != nil, name)
		if list, ok := object.(*corev1.SecretList); ok {
			for _, secret := range list.Items {
				got = append(got, secret.Name)
			}
		}
		assert.Equal(t, test.want, got, name)
	}
}

func TestPullSecretsAreServedOnlyIfTheServerCanReadThem(t *testing.T) {
	storage := map[string]genericrest.Storage{"nodeimages": oneImage{}}
	extend(t, nil, storage)
	assert.Len(t, storage, 1)
}

// extend passes the storage to the kind, as the server does after it has opened the store.
func extend(t *testing.T, secrets *PullSecrets, storage map[string]genericrest.Storage) {
	t.Helper()
	gate, err := features.New("")
	require.NoError(t, err)
	kind, ok := nodeImage(gate, clock.RealClock{}, secrets).(*rest.Kind[*apps.NodeImage])
	require.True(t, ok)
	kind.Extend(storage)
}
