package guard

import (
	"context"
	"errors"
	"strconv"
)

// Record is what the store says about itself.
type Record struct {
	Identity   string `json:"identity"`
	Generation int64  `json:"generation"`
	// Cluster is the UID of the cluster whose objects these are: that of its namespace kube-system.
	Cluster string `json:"cluster,omitempty"`
	// Candidate says that the record only gives a closed store a name, so that an operator can refer to it.
	Candidate bool `json:"candidate,omitempty"`
}

// Token names the store at this generation. An operator confirms it, and nothing else, by repeating it.
func (r *Record) Token() string { return r.Identity + "/" + strconv.FormatInt(r.Generation, 10) }

// Reading is an answer of the store.
type Reading struct {
	// Record is nil where the store has none.
	Record *Record
	// Version is the etcd revision of the record, or zero.
	Version int64
	// Cluster is etcd's cluster ID, Revision its revision at the time of the answer.
	Cluster  uint64
	Revision int64
}

// Store is where the record is kept.
type Store interface {
	// Read returns the record as all members agree on it.
	Read(ctx context.Context) (Reading, error)
	// Holds says whether there are objects.
	Holds(ctx context.Context) (bool, error)
	// Write replaces the record that has the given version; zero means that there is none. It returns ErrChanged where there is
	// another.
	Write(ctx context.Context, record Record, version int64) (Reading, error)
	// Endpoint says in words where the store is.
	Endpoint() string
}

// ErrChanged says that somebody else wrote the record.
var ErrChanged = errors.New("the record of the store was changed meanwhile")
