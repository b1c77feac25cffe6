package guard

import (
	"context"
	"errors"
	"strconv"
)

// Record is what the store holds about itself.
type Record struct {
	Identity   string `json:"identity"`
	Generation int64  `json:"generation"`
	// Cluster is the UID of the cluster that the objects belong to, which is the UID of its namespace kube-system.
	Cluster string `json:"cluster,omitempty"`
	// Candidate is true if the record only names a closed store, so that an operator can refer to it.
	Candidate bool `json:"candidate,omitempty"`
}

// Token identifies the store at this generation. An operator repeats it to open exactly this store.
func (r *Record) Token() string { return r.Identity + "/" + strconv.FormatInt(r.Generation, 10) }

// Reading is the result of reading the record.
type Reading struct {
	// Record is nil if the store has none.
	Record *Record
	// Version is the etcd revision of the record, or zero if there is no record.
	Version int64
	// Cluster is the cluster ID of etcd. Revision is the revision of etcd at the time of the answer.
	Cluster  uint64
	Revision int64
}

// Store reads and writes the record.
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
