package imagepulljob

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// sized returns a pull secret with about the given number of bytes.
func sized(name string, bytes int) *corev1.Secret {
	secret := source(strings.Repeat("x", bytes))
	secret.Name, secret.Annotations = name, nil
	return secret
}

// reads returns how many Secrets of users were read since the last call.
func (w *world) reads() (n int) {
	for _, action := range w.Kube.Actions() {
		if action.Matches("get", "secrets") && action.GetNamespace() == "ns" {
			n++
		}
	}
	w.Kube.ClearActions()
	return n
}

func TestJobReadsABoundedNumberOfSecrets(t *testing.T) {
	var names []string
	for i := range 10000 {
		names = append(names, fmt.Sprint("a", i))
	}
	w := newWorld(t, append(nodeImages(1), newJob("a", with(names...)))...)
	w.step("a")
	assert.Equal(t, 32, w.reads())
	assert.Equal(t, []string{"n1"}, w.unfinished())
}

func TestSecretsThatAreTooLargeAreNotCopied(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s", "t")), sized("s", 100<<10), sized("t", 200<<10))...)
	w.step("a")
	assert.Empty(t, w.copies())
	assert.Empty(t, w.refs("n1"))
	message := w.job("a").Status.Message
	assert.Regexp(t, `^job is running, progress 0.0%; no pull secret is used, because the copies for the jobs of namespace ns would have `+
		`30\d{4} bytes, and at most 262144 are allowed; use fewer or smaller Secrets$`, message)
	w.pass(secretsCheck / 2)
	w.step("a")
	assert.Equal(t, message, w.job("a").Status.Message, "the message stays between two checks")

	w.Update(sized("t", 100))
	w.pass(secretsCheck)
	w.step("a")
	assert.Len(t, w.copies(), 2)
	assert.Len(t, w.refs("n1"), 2)
	assert.Equal(t, "job is running, progress 0.0%", w.job("a").Status.Message)
}

// The jobs of one namespace share the limit, and what is copied already stays.
func TestCopiesOfANamespaceAreBounded(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s")), newJob("b", with("t")), sized("s", 200<<10), sized("t", 200<<10))...)
	w.step("a")
	w.step("b")
	assert.Len(t, w.copies(), 1)
	assert.Contains(t, w.job("b").Status.Message, "no pull secret is used")
	w.pass(secretsCheck)
	w.step("a")
	assert.NotContains(t, w.job("a").Status.Message, "no pull secret is used")

	// A Secret that grows later counts, too.
	w.Update(sized("s", 300<<10))
	w.pass(secretsCheck)
	w.step("a")
	assert.Contains(t, w.job("a").Status.Message, "no pull secret is used")
	w.reap()
	assert.Empty(t, w.copies())
}

// An entry that stays for long does not collect the references of all jobs.
func TestReferencesToDeletedCopiesAreRemoved(t *testing.T) {
	w := newWorld(t, append(nodeImages(1), newJob("a", with("s")), sized("s", 10))...)
	image := w.image("n1")
	image.Spec.Images = map[string]v1beta1.ImageSpec{"nginx": {PullSecrets: []v1beta1.ReferenceObject{
		{Namespace: "kruise-daemon-config", Name: "gone", Mode: "batch"}, {Namespace: "kruise-daemon-config", Name: "of-a-user"},
	}}}
	w.Update(image)
	w.step("a")
	var names []string
	for _, reference := range w.refs("n1") {
		names = append(names, reference.Name)
	}
	require.Len(t, names, 2)
	assert.Equal(t, "of-a-user", names[0])
}
