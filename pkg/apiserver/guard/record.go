package guard

import (
	"context"
	"errors"
	"strconv"

	"github.com/google/uuid"
)

// RestoredGeneration is the generation of a store that was restored from a snapshot, until it is opened. All others are higher.
const RestoredGeneration = 0

// Record is what the store holds about itself, as JSON at one key. Earlier and later releases read it, so fields are
// only added.
type Record struct {
	// Identity names the store for its whole life. It also survives a copy and a restoration.
	Identity string `json:"identity"`
	// Generation grows while there are writes. The one of two copies with the higher generation is the newer one.
	Generation int64 `json:"generation"`
	// Cluster is the UID of the cluster that the objects belong to, which is the UID of its namespace kube-system.
	Cluster string `json:"cluster,omitempty"`
	// Candidate is true if the record only names a closed store, so that an operator can refer to it.
	Candidate bool `json:"candidate,omitempty"`
	// Copied is true in the target of a move until a server opens it.
	Copied bool `json:"copied,omitempty"`
	// Restoration identifies the restoration from a snapshot, until the store is opened.
	Restoration string `json:"restoration,omitempty"`
	// Incomplete is true while an import or a copy writes objects, and while an operator has closed the store. No server opens such a
	// store, and the annotation of an operator does not open it either.
	Incomplete bool `json:"incomplete,omitempty"`
	// Cause says why Incomplete is true. It is empty for an import.
	Cause Cause `json:"cause,omitempty"`
}

// Cause is why a store is incomplete.
type Cause string

const (
	// Copying means that a copy of another store writes the objects.
	Copying Cause = "copy"
	// ByOperator means that an operator has closed the store. It has all its objects, so no import replaces or discards them.
	ByOperator Cause = "operator"
)

// Token identifies the store at this generation. An operator repeats it to open exactly this store.
func (r *Record) Token() string {
	token := r.Identity + "/" + strconv.FormatInt(r.Generation, 10)
	if r.Restoration != "" {
		token += "/" + r.Restoration
	}
	return token
}

// incompletion says why the store is incomplete.
func (r *Record) incompletion() string {
	switch r.Cause {
	case Copying:
		return "the copy of another store into this store is not complete"
	case ByOperator:
		return "an operator has closed the store"
	default:
		return "the import of objects into the store is not complete"
	}
}

// Restored returns the record of a store that was just restored from a snapshot of this one. Its token is new, so that a command that
// opened another store, or another restoration, does not open it.
func (r *Record) Restored() Record {
	restored := *r
	restored.Generation, restored.Restoration = RestoredGeneration, uuid.NewString()
	return restored
}

// Reading is the result of reading the record. All its fields come from one answer of etcd.
type Reading struct {
	// Record is nil if the store has none.
	Record *Record
	// Version is the etcd revision of the record, or zero if there is no record.
	Version int64
	// Cluster is the cluster ID of etcd. Revision is the revision of etcd at the time of the answer.
	Cluster  uint64
	Revision int64
}

// Store reads and writes the record. Errors other than ErrChanged mean that the store did not answer, and leave open
// whether a write was done.
type Store interface {
	// Read returns the record with a linearizable read.
	Read(ctx context.Context) (Reading, error)
	// Holds returns true if the store contains objects.
	Holds(ctx context.Context) (bool, error)
	// Write replaces the record of the given version. Version zero means that no record exists. Write returns
	// ErrChanged if the version differs.
	Write(ctx context.Context, record Record, version int64) (Reading, error)
	// Endpoint returns the address of the store for messages.
	Endpoint() string
}

// ErrChanged means that another client has changed the record.
var ErrChanged = errors.New("another process changed the record of the store")
