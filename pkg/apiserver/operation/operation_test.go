package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/client-go/kubernetes/fake"

	"kruise.io/kruise/pkg/apiserver/guard"
	"kruise.io/kruise/pkg/apiserver/store"
)

const group = "apps.kruise.io"

// newStore starts an empty etcd with one member.
func newStore(t *testing.T) *Store {
	t.Helper()
	return newStoreOf(t, store.DefaultQuotaBytes)
}

func newStoreOf(t *testing.T, quota int64) *Store {
	t.Helper()
	dir, err := os.MkdirTemp("", "op") //nolint:usetesting // t.TempDir is longer than a socket's path may be
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	member, err := store.Start(t.Context(), store.Config{
		Dir: dir, QuotaBytes: quota, MaxRequestBytes: store.DefaultMaxRequestBytes,
	})
	require.NoError(t, err)
	t.Cleanup(member.Stop)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{member.Endpoint}, Context: t.Context()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return &Store{Client: client, Prefix: "/registry/kruise.io", Groups: []string{group}}
}

func (s *Store) put(t *testing.T, key, value string) int64 {
	t.Helper()
	response, err := s.Client.Put(t.Context(), key, value)
	require.NoError(t, err)
	return response.Header.GetRevision()
}

func (s *Store) has(t *testing.T, key string) string {
	t.Helper()
	response, err := s.Client.Get(t.Context(), key)
	require.NoError(t, err)
	if len(response.Kvs) == 0 {
		return ""
	}
	return string(response.Kvs[0].Value)
}

// fill writes a record and a number of objects.
func (s *Store) fill(t *testing.T, record guard.Record, objects int) (revision int64) {
	t.Helper()
	value, err := json.Marshal(record)
	require.NoError(t, err)
	s.put(t, s.root()+"store-guard", string(value))
	for i := range objects {
		revision = s.put(t, objectKey(i), fmt.Sprintf("object %d", i))
	}
	return revision
}

func objectKey(i int) string {
	return fmt.Sprintf("/registry/kruise.io/apps.kruise.io/clonesets/ns/demo-%d", i)
}

func (s *Store) recorded(t *testing.T) *guard.Record {
	t.Helper()
	reading, err := s.record().Read(t.Context())
	require.NoError(t, err)
	return reading.Record
}

var known = guard.Record{Identity: "a-b-c", Generation: 7, Cluster: "uid"}

// TestCopyHasAllObjectsAndALaterRevision copies more than one page.
func TestCopyHasAllObjectsAndALaterRevision(t *testing.T) {
	from, to := newStore(t), newStore(t)
	revision := from.fill(t, known, pageSize+1)
	from.put(t, "/registry/kruise.io/turns/x", "a lock is not copied")
	for range 300 {
		revision = from.put(t, objectKey(0), "newest")
	}

	copied, err := Copy(t.Context(), from, to, true)
	require.NoError(t, err)
	assert.Equal(t, pageSize+1, copied.Objects)
	assert.Greater(t, copied.Revision, revision)
	for i := range pageSize + 1 {
		assert.Equal(t, from.has(t, objectKey(i)), to.has(t, objectKey(i)))
	}
	assert.Empty(t, to.has(t, "/registry/kruise.io/turns/x"))
	assert.Empty(t, to.has(t, to.root()+stepName))
	assert.Equal(t, &guard.Record{Identity: "a-b-c", Generation: 8, Cluster: "uid", Copied: true}, to.recorded(t), "later than the source")
	_, err = to.Client.Get(t.Context(), objectKey(0), clientv3.WithRev(copied.Revision-1))
	assert.ErrorContains(t, err, "compacted", "an incomplete copy must not be read")

	again, err := Copy(t.Context(), from, to, true)
	require.NoError(t, err)
	assert.True(t, again.Before)
}

func checkRestored(t *testing.T, record *guard.Record) {
	t.Helper()
	require.NotNil(t, record)
	assert.NotEmpty(t, record.Restoration)
	assert.Equal(t, "a-b-c/0/"+record.Restoration, record.Token())
	assert.Equal(t, guard.Record{Identity: "a-b-c", Cluster: "uid", Restoration: record.Restoration}, *record)
}

// TestCopyOfASnapshotIsMarkedAsRestored, so that the guard does not open it without the operator.
func TestCopyOfASnapshotIsMarkedAsRestored(t *testing.T) {
	from, to := newStore(t), newStore(t)
	from.fill(t, known, 1)
	_, err := Copy(t.Context(), from, to, false)
	require.NoError(t, err)
	checkRestored(t, to.recorded(t))
}

// TestRestoredStoreIsMarked marks a store with a record, and one without.
func TestRestoredStoreIsMarked(t *testing.T) {
	s := newStore(t)
	s.fill(t, known, 1)
	require.NoError(t, MarkRestored(t.Context(), s))
	first := s.recorded(t)
	checkRestored(t, first)
	require.NoError(t, MarkRestored(t.Context(), s))
	assert.NotEqual(t, first.Token(), s.recorded(t).Token(), "each restoration is opened by a command of its own")
	empty := newStore(t)
	require.NoError(t, MarkRestored(t.Context(), empty))
	assert.Nil(t, empty.recorded(t))
}

func TestCopyRefuses(t *testing.T) {
	tests := map[string]struct {
		prepare func(from, to *Store)
		want    string
	}{
		"a source without a store": {
			func(from, _ *Store) { from.Prefix = "/other" }, "there is no store below the prefix /other",
		},
		"a target with another store": {
			func(_, to *Store) { to.fill(t, guard.Record{Identity: "x", Generation: 1}, 0) }, "holds another store with identity x",
		},
		"a target with objects": {
			func(_, to *Store) { to.put(t, objectKey(0), "theirs") }, "holds objects: choose an empty prefix",
		},
		"a source that is an incomplete copy": {
			func(from, _ *Store) {
				from.fill(t, guard.Record{Identity: "x", Incomplete: true, Cause: guard.Copying}, 0)
			},
			"holds an incomplete copy of a store",
		},
		"encrypted objects below another prefix": {
			func(from, to *Store) { to.Prefix = "/other"; from.put(t, objectKey(0), "k8s:enc:aesgcm:v1:1:x") },
			"use the prefix /registry/kruise.io for the target too",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			from, to := newStore(t), newStore(t)
			from.fill(t, known, 1)
			test.prepare(from, to)
			_, err := Copy(t.Context(), from, to, true)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// TestInterruptedCopyIsRepeated interrupts a copy to a store that a closed server has given a name.
func TestInterruptedCopyIsRepeated(t *testing.T) {
	from, to := newStore(t), newStore(t)
	from.fill(t, known, 2)
	to.fill(t, guard.Record{Identity: "x", Candidate: true}, 0)
	_, err := to.begin(t.Context(), known)
	require.NoError(t, err)
	to.put(t, objectKey(9), "deleted in the source since")

	copied, err := Copy(t.Context(), from, to, true)
	require.NoError(t, err)
	assert.Equal(t, 2, copied.Objects)
	assert.Empty(t, to.has(t, objectKey(9)))
	assert.Equal(t, int64(8), to.recorded(t).Generation)
}

// TestIncompleteCopyIsNotServed interrupts a copy behind its first object. The cluster has no record of a store, so a server would adopt
// a store with objects.
func TestIncompleteCopyIsNotServed(t *testing.T) {
	from, to := newStore(t), newStore(t)
	from.fill(t, known, 1)
	from.put(t, objectKey(1), "k8s:enc:aesgcm:v1:1:x")
	to.Prefix = "/other"
	_, err := Copy(t.Context(), from, to, false)
	require.ErrorContains(t, err, "is encrypted")
	holds, err := to.record().Holds(t.Context())
	require.NoError(t, err)
	require.True(t, holds)

	g, done := guard.New(), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer func() { cancel(); <-done }()
	go func() {
		defer close(done)
		_ = g.Run(ctx, guard.Config{
			Store: to.record(), Namespace: "kruise-system", Name: guard.ConfigMapName,
			Kube: fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "uid"}}),
			Open: func(context.Context) error { return nil },
		})
	}()
	require.Eventually(t, func() bool {
		err := g.Ready()
		return err == nil || strings.HasPrefix(err.Error(), "the store is closed: ")
	}, 10*time.Second, 10*time.Millisecond)
	assert.ErrorContains(t, g.Check(), "the copy of another store into this store is not complete; run the copy again until it is complete")
}

// TestCopyReplacesOnlyItsOwnRecord lets another process write the record of the target during the copy.
func TestCopyReplacesOnlyItsOwnRecord(t *testing.T) {
	s := newStore(t)
	version, err := s.begin(t.Context(), known)
	require.NoError(t, err)
	other := guard.Record{Identity: "other", Generation: 1}
	s.fill(t, other, 0)
	_, err = s.complete(t.Context(), known, version)
	require.ErrorIs(t, err, guard.ErrChanged)
	assert.Equal(t, other, *s.recorded(t))
}

// TestObjectsOfTwoCopiesNeverMix begins a copy while another one to the same target runs. The earlier one fails and leaves nothing behind.
func TestObjectsOfTwoCopiesNeverMix(t *testing.T) {
	from, to := newStore(t), newStore(t)
	from.fill(t, known, 1)
	earlier, err := to.begin(t.Context(), known)
	require.NoError(t, err)
	first := &copying{from: from, to: to, version: earlier}
	page := []*mvccpb.KeyValue{{Key: []byte(objectKey(7)), Value: []byte("of the earlier copy")}}
	require.NoError(t, first.write(t.Context(), page))

	copied, err := Copy(t.Context(), from, to, true)
	require.NoError(t, err)
	assert.Equal(t, 1, copied.Objects)
	require.ErrorIs(t, first.write(t.Context(), page), guard.ErrChanged)
	require.ErrorIs(t, to.clear(t.Context(), earlier), guard.ErrChanged)
	assert.Empty(t, to.has(t, objectKey(7)))
	assert.Equal(t, "object 0", to.has(t, objectKey(0)))
}

// TestSourceMustNotChange writes or deletes an object of the source after it was read.
func TestSourceMustNotChange(t *testing.T) {
	for name, change := range map[string]func(s *Store) error{
		"write":  func(s *Store) error { _, err := s.Client.Put(t.Context(), objectKey(0), "new"); return err },
		"delete": func(s *Store) error { _, err := s.Client.Delete(t.Context(), objectKey(1)); return err },
	} {
		s := newStore(t)
		revision := s.fill(t, known, 3)
		require.NoError(t, s.unchanged(t.Context(), revision, 3), name)
		require.NoError(t, change(s), name)
		assert.ErrorContains(t, s.unchanged(t.Context(), revision, 3), "the source changed during the copy", name)
	}
}

func TestRevisionOfTheTargetIsNotRaisedWithoutLimit(t *testing.T) {
	to := newStore(t)
	assert.ErrorContains(t, to.raise(t.Context(), MaxRaise+1000), "etcdutl snapshot restore")
}

// TestSnapshotIsOlderThanTheStore: the generation advances, so that the guard recognizes the snapshot.
func TestSnapshotIsOlderThanTheStore(t *testing.T) {
	s := newStore(t)
	s.fill(t, known, 1)
	var file bytes.Buffer
	saved, err := Snapshot(t.Context(), s, &file)
	require.NoError(t, err)
	assert.Equal(t, known, *saved.Record)
	assert.Equal(t, int64(file.Len()), saved.Bytes)
	assert.Equal(t, int64(8), s.recorded(t).Generation)
}

// TestFullStoreIsSaved: a backup is most wanted when the store is full.
func TestFullStoreIsSaved(t *testing.T) {
	s := newStoreOf(t, 4<<20)
	s.fill(t, known, 1)
	var err error
	for i := 1; err == nil; i++ {
		_, err = s.Client.Put(t.Context(), objectKey(i), strings.Repeat("x", 100<<10))
	}
	require.ErrorContains(t, err, "database space exceeded")
	var file bytes.Buffer
	saved, err := Snapshot(t.Context(), s, &file)
	require.NoError(t, err)
	assert.Equal(t, int64(file.Len()), saved.Bytes)
	assert.Equal(t, known, *saved.Record)
}

// TestFullEtcdAcceptsWritesAfterDefragment fills an etcd and deletes what is in it.
func TestFullEtcdAcceptsWritesAfterDefragment(t *testing.T) {
	s := newStoreOf(t, 4<<20)
	var err error
	for i := 0; err == nil; i++ {
		_, err = s.Client.Put(t.Context(), objectKey(i), strings.Repeat("x", 100<<10))
	}
	require.ErrorContains(t, err, "database space exceeded")
	_, err = s.Client.Delete(t.Context(), s.root(), clientv3.WithPrefix())
	require.NoError(t, err)
	_, err = s.Client.Put(t.Context(), objectKey(0), "x")
	require.ErrorContains(t, err, "database space exceeded")

	var done []Defragmented
	resumed, err := Defragment(t.Context(), s.Client, func(d Defragmented) { done = append(done, d) })
	require.NoError(t, err)
	assert.True(t, resumed)
	require.Len(t, done, 1)
	assert.Less(t, done[0].After, done[0].Before/10)
	s.put(t, objectKey(0), "x")
	resumed, err = Defragment(t.Context(), s.Client, func(Defragmented) {})
	require.NoError(t, err)
	assert.False(t, resumed)
}

// reversed is a cipher for tests: it marks values that were written with the current key.
type reversed struct{}

func (reversed) TransformFromStorage(_ context.Context, data []byte, dataCtx value.Context) ([]byte, bool, error) {
	if rest, found := bytes.CutPrefix(data, append([]byte("new:"), dataCtx.AuthenticatedData()...)); found {
		return rest, false, nil
	}
	if rest, found := bytes.CutPrefix(data, []byte("old:")); found {
		return rest, true, nil
	}
	return nil, false, errors.New("no key fits")
}

func (reversed) TransformToStorage(_ context.Context, data []byte, dataCtx value.Context) ([]byte, error) {
	return bytes.Join([][]byte{[]byte("new:"), dataCtx.AuthenticatedData(), data}, nil), nil
}

func (reversed) TransformerForResource(schema.GroupResource) value.Transformer { return reversed{} }

// TestEncryptWritesOnlyObjectsOfAnotherKey.
func TestEncryptWritesOnlyObjectsOfAnotherKey(t *testing.T) {
	s := newStore(t)
	s.put(t, objectKey(0), "old:a")
	s.put(t, objectKey(1), "new:"+objectKey(1)+"b")
	s.put(t, "/registry/kruise.io/apps.kruise.io/sidecarsets/c", "old:c")
	counts, err := Encrypt(t.Context(), s, reversed{})
	require.NoError(t, err)
	assert.Equal(t, []Encrypted{
		{schema.GroupResource{Group: group, Resource: "clonesets"}, 2, 1}, {schema.GroupResource{Group: group, Resource: "sidecarsets"}, 1, 1},
	}, counts)
	assert.Equal(t, "new:"+objectKey(0)+"a", s.has(t, objectKey(0)))

	s.put(t, objectKey(0), "lost:a")
	_, err = Encrypt(t.Context(), s, reversed{})
	assert.ErrorContains(t, err, objectKey(0)+": no key fits")
}
