//go:build e2e

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// distribution is one test's ResourceDistribution, which is named after its namespace.
type distribution struct{ *env }

// newDistribution applies a ResourceDistribution of a Secret with the data a: 1, and deletes it at the end.
func newDistribution(t *testing.T, targets string) *distribution {
	t.Helper()
	d := &distribution{newEnv(t)}
	t.Cleanup(func() {
		_ = d.kruise.AppsV1beta1().ResourceDistributions().Delete(context.WithoutCancel(t.Context()), d.namespace, metav1.DeleteOptions{})
	})
	d.target("1", targets)
	return d
}

// target applies data and targets. NAME is the test's namespace.
func (d *distribution) target(data, targets string) {
	d.t.Helper()
	d.apply(strings.NewReplacer("NAME", d.namespace, "DATA", data).Replace(`apiVersion: apps.kruise.io/v1alpha1
kind: ResourceDistribution
metadata:
  name: NAME
spec:
  resource:
    apiVersion: v1
    kind: Secret
    metadata:
      name: NAME
      labels: {app: shared}
    stringData: {a: "DATA"}
  targets:
` + targets))
}

// space creates a namespace with the label env=NAME and the test's namespace as the beginning of its name.
func (d *distribution) space(suffix string, labelled bool) string {
	d.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.namespace + suffix}}
	if labelled {
		namespace.Labels = map[string]string{"env": d.namespace}
	}
	_, err := d.core.CoreV1().Namespaces().Create(d.t.Context(), namespace, metav1.CreateOptions{})
	require.NoError(d.t, err)
	d.t.Cleanup(func() {
		_ = d.core.CoreV1().Namespaces().Delete(context.WithoutCancel(d.t.Context()), namespace.Name, metav1.DeleteOptions{})
	})
	return namespace.Name
}

// copied waits until the copies in the namespaces have the data, and returns the last one.
func (d *distribution) copied(data string, namespaces ...string) (secret *corev1.Secret) {
	d.t.Helper()
	for _, namespace := range namespaces {
		d.eventually("the copy in "+namespace, func(c *require.Assertions, ctx context.Context) {
			var err error
			secret, err = d.core.CoreV1().Secrets(namespace).Get(ctx, d.namespace, metav1.GetOptions{})
			c.NoError(err)
			c.Equal(data, string(secret.Data["a"]))
		})
	}
	return secret
}

// gone waits until a namespace has no copy.
func (d *distribution) gone(namespace string) {
	d.t.Helper()
	d.eventually("no copy is in "+namespace, func(c *require.Assertions, ctx context.Context) {
		_, err := d.core.CoreV1().Secrets(namespace).Get(ctx, d.namespace, metav1.GetOptions{})
		c.True(apierrors.IsNotFound(err), "%v", err)
	})
}

// counts waits until the status has these numbers.
func (d *distribution) counts(desired, succeeded, failed int32) (status v1beta1.ResourceDistributionStatus) {
	d.t.Helper()
	d.eventually("the status", func(c *require.Assertions, ctx context.Context) {
		got, err := d.kruise.AppsV1beta1().ResourceDistributions().Get(ctx, d.namespace, metav1.GetOptions{})
		c.NoError(err)
		status = got.Status
		c.Equal(got.Generation, status.ObservedGeneration)
		c.Equal([]int32{desired, succeeded, failed}, []int32{status.Desired, status.Succeeded, status.Failed}, "%+v", status)
	})
	return status
}

// Cases resourcedistribution 2, 3, 5, 7, 8, 9, 10, 13, 17, 18.
func TestSecretIsDistributedAndFollowsItsNamespaces(t *testing.T) {
	t.Parallel()
	d := newDistribution(t, `    includedNamespaces: {list: [{name: NAME}, {name: NAME-later}]}
    excludedNamespaces: {list: [{name: NAME-excluded}]}
    namespaceLabelSelector: {matchLabels: {env: NAME}}`)
	selected, excluded := d.space("-selected", true), d.space("-excluded", true)
	d.copied("1", d.namespace, selected)
	status := d.counts(3, 2, 1)
	assert.Equal(t, []string{d.namespace + "-later"}, status.Conditions[5].FailedNamespaces)
	later := d.space("-later", false)
	copied := d.copied("1", later)
	d.counts(3, 3, 0)
	d.gone(excluded)

	secrets := d.core.CoreV1().Secrets(later)
	copied.Data["a"], copied.Labels["theirs"] = []byte("edited"), "x"
	_, err := secrets.Update(t.Context(), copied, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, "x", d.copied("1", later).Labels["theirs"])
	require.NoError(t, secrets.Delete(t.Context(), d.namespace, metav1.DeleteOptions{}))
	d.copied("1", later)

	d.kubectl("label", "namespace", selected, "env-")
	d.gone(selected)
	d.kubectl("label", "namespace", selected, "env="+d.namespace)
	d.copied("1", selected)

	d.target("2", `    includedNamespaces: {list: [{name: NAME}, {name: NAME-later}]}`)
	d.copied("2", d.namespace, later)
	d.gone(selected)
	d.counts(2, 2, 0)
	d.kubectl("delete", "namespace", later, "--wait=false")
	status = d.counts(2, 1, 1)
	assert.Equal(t, corev1.ConditionTrue, status.Conditions[5].Status)
	d.target("2", `    allNamespaces: false`)
	d.gone(d.namespace)
	d.counts(0, 0, 0)
}

// Cases resourcedistribution 6, 10.
func TestObjectsOfOthersSurviveADistribution(t *testing.T) {
	t.Parallel()
	d := &distribution{newEnv(t)}
	other, conflict := d.space("-other", false), d.space("-conflict", false)
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: d.namespace}, StringData: map[string]string{"a": "theirs"}}
	_, err := d.core.CoreV1().Secrets(conflict).Create(t.Context(), theirs, metav1.CreateOptions{})
	require.NoError(t, err)
	d.target("1", `    includedNamespaces: {list: [{name: NAME-other}, {name: NAME-conflict}]}`)
	d.copied("1", other)
	status := d.counts(2, 1, 1)
	assert.Equal(t, []string{conflict}, status.Conditions[4].FailedNamespaces)
	require.NoError(t, d.kruise.AppsV1beta1().ResourceDistributions().Delete(t.Context(), d.namespace, metav1.DeleteOptions{}))
	d.gone(other)
	d.copied("theirs", conflict)
}

// Case resourcedistribution 20.
func TestHashOfACopyIsThatOfTheResource(t *testing.T) {
	t.Parallel()
	d := newDistribution(t, `    includedNamespaces: {list: [{name: NAME}]}`)
	copied := d.copied("1", d.namespace)
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		raw, err := d.kruise.Discovery().RESTClient().Get().AbsPath("/apis/apps.kruise.io", version, "resourcedistributions", d.namespace).
			SetHeader("Accept", "application/json").DoRaw(t.Context())
		require.NoError(t, err)
		var object struct {
			Spec struct {
				Resource json.RawMessage `json:"resource"`
			} `json:"spec"`
		}
		require.NoError(t, json.Unmarshal(raw, &object))
		sum := sha256.Sum256(object.Spec.Resource)
		assert.Equal(t, hex.EncodeToString(sum[:]), copied.Annotations[pub.ResourceDistributionHashKey])
	}
}

// Case resourcedistribution 21.
func TestControllersOnlyWriteCopies(t *testing.T) {
	t.Parallel()
	d := newDistribution(t, `    includedNamespaces: {list: [{name: NAME}]}`)
	copied := d.copied("1", d.namespace)
	config := rest.CopyConfig(d.config)
	config.Impersonate.UserName = "system:serviceaccount:kruise-system:kruise-manager"
	manager := (&env{t: t, config: config}).clients().core.CoreV1().Secrets(d.namespace)
	theirs, err := d.core.CoreV1().Secrets(d.namespace).Create(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}, metav1.CreateOptions{})
	require.NoError(t, err)

	forbidden := func(err error) {
		t.Helper()
		assert.True(t, apierrors.IsForbidden(err), "%v", err)
		assert.ErrorContains(t, err, "the Kruise controllers only write Secrets and ConfigMaps")
	}
	_, err = manager.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{})
	forbidden(err)
	_, err = manager.Update(t.Context(), theirs, metav1.UpdateOptions{})
	forbidden(err)
	theirs.OwnerReferences, theirs.Labels = copied.OwnerReferences, copied.Labels
	_, err = manager.Update(t.Context(), theirs, metav1.UpdateOptions{})
	forbidden(err)
	forbidden(manager.Delete(t.Context(), "theirs", metav1.DeleteOptions{}))
	require.NoError(t, manager.Delete(t.Context(), copied.Name, metav1.DeleteOptions{}))
	d.copied("1", d.namespace)
}
