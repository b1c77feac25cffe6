//go:build integration

package integration

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apiserver/store"
	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

// operate runs a command for the operator of a store, and returns what it prints.
func operate(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), env.binary, append([]string{"store"}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("kruise-apiserver store %s\n%s", strings.Join(args, " "), out)
	return string(out)
}

// ends waits until the server has ended without a signal.
func (s *server) ends(t *testing.T) {
	t.Helper()
	eventually(t, func() bool { return !s.runs() })
}

// opensAlone waits until the server is ready. No operator confirms the store.
func (s *server) opensAlone(t *testing.T) {
	t.Helper()
	require.NoError(t, s.launch())
	eventually(t, func() bool {
		_, err := s.get(t.Context(), "/readyz")
		return err == nil
	})
}

// revision returns the resourceVersion of a list. Clients compare it with the versions that they have seen.
func revision(t *testing.T, client typed.CloneSetInterface) int64 {
	t.Helper()
	list, err := client.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	number, err := strconv.ParseInt(list.ResourceVersion, 10, 64)
	require.NoError(t, err)
	return number
}

func hasCloneSet(t *testing.T, client typed.CloneSetInterface, want *v1beta1.CloneSet) {
	t.Helper()
	got, err := client.Get(t.Context(), want.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, want.UID, got.UID)
}

// TestEmbeddedStoreIsRestored takes a snapshot of a running server and restores it for the same server. The restored store is
// another one than the cluster knows, so an operator must confirm it.
func TestEmbeddedStoreIsRestored(t *testing.T) {
	t.Parallel()
	s := alone(t, "restored")
	data := "--data-dir=" + filepath.Join(s.dir, "data")
	client := s.client(t, newNamespace(t))
	kept := create(t, client, newCloneSet("kept"))
	file := filepath.Join(s.dir, "snapshot")
	assert.Contains(t, operate(t, "snapshot", file, data), "Saved store ")
	later := create(t, client, newCloneSet("later"))
	seen := revision(t, client)
	assert.Contains(t, operate(t, "restore", file, data), "The apiserver restarts with it now.")
	s.ends(t)
	require.NoError(t, s.launch())
	s.answers(t, "/readyz", "the store was restored from a snapshot")
	_, err := client.Get(t.Context(), later.Name, metav1.GetOptions{})
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	require.NoError(t, s.agree(t.Context(), s.offered(t.Context())))
	require.NoError(t, s.waitReady(t.Context()))
	hasCloneSet(t, client, kept)
	_, err = client.Get(t.Context(), later.Name, metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	assert.Greater(t, revision(t, client), seen)

	s.stop()
	s.opensAlone(t)
	hasCloneSet(t, client, kept)
}

// TestStoreMovesToEtcdAndBack moves the embedded store to an etcd that already has other keys. No operator has to confirm the new
// store, and the old store does not open again.
func TestStoreMovesToEtcdAndBack(t *testing.T) {
	t.Parallel()
	dir, endpoint := etcdAt(t, "moved-etcd")
	startEtcd(t, dir, endpoint)
	embedded := alone(t, "moved")
	data := filepath.Join(embedded.dir, "data")
	namespace := newNamespace(t)
	client := embedded.client(t, namespace)
	first := create(t, client, newCloneSet("first"))
	for range 20 {
		first.Spec.MinReadySeconds++
		var err error
		first, err = client.Update(t.Context(), first, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	seen := revision(t, client)
	embedded.stop()
	assert.Contains(t, operate(t, "copy", "--from-data-dir="+data, "--etcd-servers="+endpoint), "Copied ")

	external := prepared(t, "moved-external", "--etcd-servers="+endpoint, "--store-configmap="+embedded.configMap)
	external.configMap = embedded.configMap
	external.opensAlone(t)
	client = external.client(t, namespace)
	hasCloneSet(t, client, first)
	assert.Greater(t, revision(t, client), seen)
	second := create(t, client, newCloneSet("second"))

	require.NoError(t, embedded.launch())
	embedded.answers(t, "/readyz", "the store was rolled back from generation ")
	embedded.stop()
	seen = revision(t, client)
	external.stop()
	back := []string{"copy", "--from-etcd-servers=" + endpoint, "--data-dir=" + data}
	assert.Contains(t, operate(t, back...), "Copied ")
	embedded.opensAlone(t)
	client = embedded.client(t, namespace)
	hasCloneSet(t, client, first)
	hasCloneSet(t, client, second)
	assert.Greater(t, revision(t, client), seen)

	third := create(t, client, newCloneSet("third"))
	embedded.stop()
	assert.Contains(t, operate(t, back...), "is already complete at generation ", "a repeated copy must not overwrite")
	embedded.opensAlone(t)
	hasCloneSet(t, client, third)
}

// TestEtcdIsRestoredFromASnapshot restores the objects to another prefix of the same etcd.
func TestEtcdIsRestoredFromASnapshot(t *testing.T) {
	t.Parallel()
	dir, endpoint := etcdAt(t, "backup-etcd")
	startEtcd(t, dir, endpoint)
	etcd := "--etcd-servers=" + endpoint
	s := prepared(t, "backup", etcd)
	require.NoError(t, s.start(t.Context()))
	namespace := newNamespace(t)
	kept := create(t, s.client(t, namespace), newCloneSet("kept"))
	file := filepath.Join(s.dir, "snapshot")
	operate(t, "snapshot", file, etcd)
	create(t, s.client(t, namespace), newCloneSet("later"))
	seen := revision(t, s.client(t, namespace))
	s.stop()
	operate(t, "copy", "--from-snapshot="+file, etcd, "--etcd-prefix=/restored")

	s.args = append(s.args, "--etcd-prefix=/restored")
	require.NoError(t, s.launch())
	s.answers(t, "/readyz", "the store was restored from a snapshot")
	require.NoError(t, s.agree(t.Context(), s.offered(t.Context())))
	require.NoError(t, s.waitReady(t.Context()))
	hasCloneSet(t, s.client(t, namespace), kept)
	assert.Greater(t, revision(t, s.client(t, namespace)), seen)
}

// encryption writes a configuration with these keys. New values are encrypted with the first key.
func encryption(t *testing.T, path string, keys ...string) {
	t.Helper()
	var list string
	for _, name := range keys {
		secret := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(name, 32)[:32]))
		list += fmt.Sprintf("\n        - {name: %s, secret: %s}", name, secret)
	}
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: ["*.apps.kruise.io", "*.policy.kruise.io"]
    providers:
    - aesgcm:
        keys:%s
    - identity: {}
`, list), 0o600))
}

// TestEncryptionKeyIsRotated encrypts a store that was in plain text, and then changes the key of a running server.
func TestEncryptionKeyIsRotated(t *testing.T) {
	t.Parallel()
	dir, endpoint := etcdAt(t, "encrypted-etcd")
	startEtcd(t, dir, endpoint)
	etcd := "--etcd-servers=" + endpoint
	s := prepared(t, "encrypted", etcd)
	require.NoError(t, s.start(t.Context()))
	namespace := newNamespace(t)
	client := s.client(t, namespace)
	plain := create(t, client, newCloneSet("plain"))
	s.stop()
	stored := func(name string) string {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Context: t.Context()})
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		got, err := c.Get(t.Context(), "/registry/kruise.io/apps.kruise.io/clonesets/"+namespace+"/"+name)
		require.NoError(t, err)
		require.Len(t, got.Kvs, 1)
		return string(got.Kvs[0].Value)
	}
	require.Contains(t, stored("plain"), "kruise.local")

	path := filepath.Join(s.dir, "encryption.yaml")
	config := "--encryption-provider-config=" + path
	encryption(t, path, "one")
	s.args = append(s.args, config, "--encryption-provider-config-automatic-reload")
	require.NoError(t, s.start(t.Context()))
	hasCloneSet(t, client, plain)
	assert.Contains(t, operate(t, "encrypt", etcd, config), "clonesets.apps.kruise.io: 1 of 1 objects were written again")
	assert.NotContains(t, stored("plain"), "kruise.local")
	assert.True(t, strings.HasPrefix(stored("plain"), "k8s:enc:aesgcm:v1:one:"))

	encryption(t, path, "two", "one")
	probe := create(t, client, newCloneSet("probe"))
	eventually(t, func() bool { // The server reads the file every minute.
		probe.Spec.MinReadySeconds++
		var err error
		probe, err = client.Update(t.Context(), probe, metav1.UpdateOptions{})
		require.NoError(t, err)
		return strings.HasPrefix(stored("probe"), "k8s:enc:aesgcm:v1:two:")
	})
	assert.Contains(t, operate(t, "encrypt", etcd, config), "clonesets.apps.kruise.io: 1 of 2 objects were written again")
	assert.Contains(t, operate(t, "encrypt", etcd, config), "clonesets.apps.kruise.io: 0 of 2 objects were written again")
	hasCloneSet(t, client, plain)

	encryption(t, path, "two")
	s.stop()
	s.opensAlone(t)
	hasCloneSet(t, client, plain)
	list, err := client.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, list.Items, 2)
}

// TestStoreIsDefragmented deletes large objects of both kinds of stores.
func TestStoreIsDefragmented(t *testing.T) {
	t.Parallel()
	dir, endpoint := etcdAt(t, "fragmented-etcd")
	startEtcd(t, dir, endpoint)
	external, embedded := alone(t, "fragmented-external", "--etcd-servers="+endpoint), alone(t, "fragmented")
	at := map[*server]string{external: "--etcd-servers=" + endpoint, embedded: "--data-dir=" + filepath.Join(embedded.dir, "data")}
	for s, flag := range at {
		client := s.client(t, newNamespace(t))
		large := newCloneSet("large")
		large.Annotations = map[string]string{"large": strings.Repeat("x", 200<<10)}
		for range 20 {
			create(t, client, large)
			require.NoError(t, client.Delete(t.Context(), large.Name, metav1.DeleteOptions{}))
		}
		compact(t, cmp.Or(socket(t, s), endpoint))
		out := operate(t, "defragment", flag)
		sizes := regexp.MustCompile(`(\d+) bytes, before (\d+) bytes`).FindStringSubmatch(out)
		require.Len(t, sizes, 3, out)
		after, err := strconv.Atoi(sizes[1])
		require.NoError(t, err)
		before, err := strconv.Atoi(sizes[2])
		require.NoError(t, err)
		assert.Less(t, after, before)
		create(t, client, newCloneSet("demo"))
	}
}

// socket is the address of an embedded store, if the server has one.
func socket(t *testing.T, s *server) string {
	t.Helper()
	found, err := store.Running(t.Context(), filepath.Join(s.dir, "data"))
	require.NoError(t, err)
	return found
}

// compact drops all old revisions.
func compact(t *testing.T, endpoint string) {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Context: t.Context()})
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	now, err := client.Get(t.Context(), "any")
	require.NoError(t, err)
	_, err = client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical())
	require.NoError(t, err)
}
