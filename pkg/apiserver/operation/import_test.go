package operation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"

	"kruise.io/kruise/pkg/apiserver/guard"
)

func newImporter(t *testing.T) *Importer {
	t.Helper()
	return &Importer{Store: newStore(t), Transformers: encryptionconfig.StaticTransformers{}}
}

// entries returns objects from..to with a value.
func entries(from, to int, value string) []Entry {
	var all []Entry
	for i := from; i < to; i++ {
		all = append(all, Entry{
			Resource: schema.GroupResource{Group: group, Resource: "clonesets"},
			Key:      fmt.Sprintf("%s/clonesets/ns/demo-%d", group, i), Value: fmt.Appendf(nil, "%s %d", value, i),
		})
	}
	return all
}

var final = guard.Record{Identity: "final", Generation: 1, Cluster: "here"}

// TestImportsLeaveExactlyTheirObjects repeats an import with other objects. It writes and deletes only what differs.
func TestImportsLeaveExactlyTheirObjects(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	first, err := i.Import(t.Context(), entries(0, 300, "v1"))
	require.NoError(t, err)
	assert.Equal(t, Imported{Objects: 300, Written: 300, Revision: first.Revision}, first)
	assert.Equal(t, "v1 7", i.Store.has(t, objectKey(7)))

	next := append(entries(0, 10, "v2"), entries(10, 299, "v1")...)
	second, err := i.Import(t.Context(), append(next, entries(300, 301, "v1")...))
	require.NoError(t, err)
	assert.Equal(t, Imported{Objects: 300, Written: 11, Unchanged: 289, Deleted: 1, Revision: second.Revision}, second)
	assert.Equal(t, "v2 7", i.Store.has(t, objectKey(7)))
	assert.Equal(t, "v1 10", i.Store.has(t, objectKey(10)))
	assert.Empty(t, i.Store.has(t, objectKey(299)))
}

// TestServersDoNotOpenAnIncompleteImport reads the record that the guard reads.
func TestServersDoNotOpenAnIncompleteImport(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	_, err := i.Complete(t.Context(), final)
	require.ErrorContains(t, err, "import the objects first")
	_, err = i.Import(t.Context(), nil)
	require.NoError(t, err)
	assert.True(t, i.Store.recorded(t).Incomplete, "also without objects")
	for range 2 {
		_, err = i.Complete(t.Context(), final)
		require.NoError(t, err, "completing is repeated after a lost answer")
		assert.Equal(t, final, *i.Store.recorded(t))
	}
	other := final
	other.Identity = "other"
	_, err = i.Complete(t.Context(), other)
	require.ErrorContains(t, err, "holds the store with identity final")
}

// TestImportsSpareStoresInUse refuses a store that belongs to an installation, or that holds objects of unknown origin.
func TestImportsSpareStoresInUse(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	i.Store.fill(t, guard.Record{Identity: "mine", Generation: 3}, 2)
	_, err := i.Import(t.Context(), entries(0, 1, "v1"))
	require.ErrorContains(t, err, "identity mine at generation 3")
	require.ErrorContains(t, i.Discard(t.Context()), "identity mine, which is in use")
	assert.Equal(t, "object 0", i.Store.has(t, objectKey(0)))

	unknown := newImporter(t)
	unknown.Store.put(t, objectKey(0), "object 0")
	_, err = unknown.Import(t.Context(), entries(0, 1, "v1"))
	require.ErrorContains(t, err, "holds objects")
	assert.Equal(t, "object 0", unknown.Store.has(t, objectKey(0)))

	copied := newImporter(t)
	_, err = copied.Store.begin(t.Context(), known)
	require.NoError(t, err)
	_, err = copied.Import(t.Context(), entries(0, 1, "v1"))
	require.ErrorContains(t, err, "repeat the copy, or choose an empty prefix", "an incomplete copy is not an import")
	_, err = copied.Complete(t.Context(), final)
	require.ErrorContains(t, err, "repeat the copy, or choose an empty prefix")
	require.NoError(t, copied.Discard(t.Context()))
	assert.Nil(t, copied.Store.recorded(t), "the prefix is empty again")
}

// TestClosedStoreKeepsItsObjects closes a store of an installation. Only an explicit command lets an import replace its objects.
func TestClosedStoreKeepsItsObjects(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	i.Store.fill(t, known, 2)
	require.NoError(t, i.Close(t.Context()))
	closed := known
	closed.Incomplete, closed.Cause = true, guard.ByOperator
	assert.Equal(t, closed, *i.Store.recorded(t))

	const refused = "the store with identity a-b-c at generation 7, which an operator has closed: open it with store reopen"
	_, err := i.Import(t.Context(), entries(0, 1, "v1"))
	require.ErrorContains(t, err, refused)
	require.ErrorContains(t, i.Check(t.Context()), refused)
	require.ErrorContains(t, i.Discard(t.Context()), refused)
	_, err = i.Complete(t.Context(), final)
	require.ErrorContains(t, err, refused)
	assert.Equal(t, "object 0", i.Store.has(t, objectKey(0)))
	assert.Equal(t, closed, *i.Store.recorded(t))
	for range 2 {
		require.NoError(t, i.Reopen(t.Context()))
		assert.Equal(t, known, *i.Store.recorded(t))
	}

	require.NoError(t, i.Replace(t.Context()))
	assert.Equal(t, known, *i.Store.recorded(t), "an open store is not given up")
	require.NoError(t, i.Close(t.Context()))
	require.NoError(t, i.Replace(t.Context()))
	require.ErrorContains(t, i.Reopen(t.Context()), "holds an incomplete import or copy")
	done, err := i.Import(t.Context(), entries(0, 1, "v1"))
	require.NoError(t, err)
	assert.Equal(t, Imported{Objects: 1, Written: 1, Deleted: 1, Revision: done.Revision}, done)
}

// TestImportReplacesTheCandidate imports into the store of a closed server, which has given it a name.
func TestImportReplacesTheCandidate(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	i.Store.fill(t, guard.Record{Identity: "candidate", Candidate: true}, 0)
	_, err := i.Import(t.Context(), entries(0, 1, "v1"))
	require.NoError(t, err)
	assert.True(t, i.Store.recorded(t).Incomplete)
}

// TestDiscardedImportsLeaveNothing removes an import, so that another one can begin.
func TestDiscardedImportsLeaveNothing(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	require.NoError(t, i.Discard(t.Context()), "nothing was imported")
	_, err := i.Import(t.Context(), entries(0, 3, "v1"))
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, i.Discard(t.Context()))
	}
	reading, err := i.Store.record().Read(t.Context())
	require.NoError(t, err)
	assert.Nil(t, reading.Record)
	assert.Empty(t, i.Store.has(t, objectKey(0)))
}

// TestImportEndsWithItsRecord completes or discards an import while a process still writes and deletes for it.
func TestImportEndsWithItsRecord(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(i *Importer) error{
		"complete": func(i *Importer) error { _, err := i.Complete(t.Context(), final); return err },
		"discard":  func(i *Importer) error { return i.Discard(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImporter(t)
			_, err := i.Import(t.Context(), entries(0, 1, "v1"))
			require.NoError(t, err)
			version, err := i.begin(t.Context())
			require.NoError(t, err)
			stored := i.Store.has(t, objectKey(0))
			require.NoError(t, end(i))
			if name == "discard" {
				stored = ""
			}
			late := entries(0, 1, "v2")[0]
			_, err = i.write(t.Context(), version, objectKey(0), late, nil)
			require.ErrorIs(t, err, guard.ErrChanged)
			require.ErrorContains(t, err, "run store begin-import")
			assert.Equal(t, stored, i.Store.has(t, objectKey(0)))
		})
	}
}

// TestSpaceIsWhatEtcdHasLeft compares the space with the quota.
func TestSpaceIsWhatEtcdHasLeft(t *testing.T) {
	t.Parallel()
	const quota = 16 << 20
	s := newStoreOf(t, quota)
	before, err := s.Space(t.Context())
	require.NoError(t, err)
	assert.Less(t, before, int64(quota))
	for i := range 4 {
		s.put(t, objectKey(i), string(make([]byte, 1<<20)))
	}
	assert.Eventually(t, func() bool {
		after, err := s.Space(t.Context())
		return err == nil && after < before-3<<20
	}, 10*time.Second, 50*time.Millisecond)
}
