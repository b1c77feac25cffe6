package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// recordName is the last part of the record's key. Objects have keys below their group names.
const recordName = "store-guard"

// Etcd is a Store in an etcd cluster.
type Etcd struct {
	Client *clientv3.Client
	// Prefix is the common prefix of all keys. Groups are the parts below it that contain objects.
	Prefix string
	Groups []string
}

var _ Store = &Etcd{}

// Key returns the key of the record.
func (e *Etcd) Key() string { return path.Join("/", e.Prefix, recordName) }

// PrefixOf returns the prefix of the store to which the key of a record belongs. It returns false for other keys.
func PrefixOf(key string) (prefix string, found bool) { return strings.CutSuffix(key, "/"+recordName) }

// Endpoint implements Store. It is for messages only.
func (e *Etcd) Endpoint() string { return strings.Join(e.Client.Endpoints(), ", ") }

// Read implements Store. One request returns the record and the header, so the cluster ID and the revision belong to
// the same answer. Get of etcd is linearizable by default: a member that lost contact to the others does not answer
// from its old data.
func (e *Etcd) Read(ctx context.Context) (Reading, error) {
	response, err := e.Client.Get(ctx, e.Key())
	if err != nil {
		return Reading{}, fmt.Errorf("read the record of the store: %w", err)
	}
	reading := Reading{Cluster: response.Header.GetClusterId(), Revision: response.Header.GetRevision()}
	if len(response.Kvs) == 0 {
		return reading, nil
	}
	reading.Record, reading.Version = &Record{}, response.Kvs[0].ModRevision
	if err := json.Unmarshal(response.Kvs[0].Value, reading.Record); err != nil {
		return Reading{}, fmt.Errorf("read the record of the store at %s: %w", e.Key(), err)
	}
	return reading, nil
}

// Holds implements Store. One key is enough, so it does not read values.
func (e *Etcd) Holds(ctx context.Context) (bool, error) {
	for _, group := range e.Groups {
		prefix := path.Join("/", e.Prefix, group) + "/"
		response, err := e.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(1))
		if err != nil {
			return false, fmt.Errorf("look for objects in the store: %w", err)
		}
		if len(response.Kvs) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// Write implements Store. The comparison of ModRevision makes two servers that write at the same time notice each
// other. A key that does not exist has the ModRevision zero.
func (e *Etcd) Write(ctx context.Context, record Record, version int64) (Reading, error) {
	value, err := json.Marshal(record)
	if err != nil {
		return Reading{}, fmt.Errorf("encode the record of the store: %w", err)
	}
	response, err := e.Do(ctx, version, clientv3.OpPut(e.Key(), string(value)))
	if errors.Is(err, ErrChanged) {
		return Reading{}, err
	}
	if err != nil {
		return Reading{}, fmt.Errorf("write the record of the store: %w", err)
	}
	return Reading{
		Record: &record, Version: response.Header.GetRevision(),
		Cluster: response.Header.GetClusterId(), Revision: response.Header.GetRevision(),
	}, nil
}

// Do carries out operations if the record has the version, all or none. It returns ErrChanged if the record has another one.
func (e *Etcd) Do(ctx context.Context, version int64, operations ...clientv3.Op) (*clientv3.TxnResponse, error) {
	response, err := e.Client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(e.Key()), "=", version)).Then(operations...).Commit()
	if err == nil && !response.Succeeded {
		return nil, ErrChanged
	}
	return response, err
}
