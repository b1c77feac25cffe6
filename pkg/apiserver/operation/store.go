package operation

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kruise.io/kruise/pkg/apiserver/guard"
)

// pageSize is the number of keys that one request reads.
const pageSize = 200

// keysPageSize is the same for requests that read no values.
const keysPageSize = 10_000

// Store is the part of an etcd that belongs to one installation.
type Store struct {
	Client *clientv3.Client
	// Prefix is the common prefix of all keys. Groups are the parts below it that contain objects.
	Prefix string
	Groups []string
}

// Found is a store in an etcd.
type Found struct {
	Prefix string
	Record guard.Record
}

// Find returns the stores in an etcd, ordered by key. Each has a record. Incomplete copies are no stores, and neither are prefixes that
// only a closed server has named.
func Find(ctx context.Context, client *clientv3.Client) ([]Found, error) {
	var all []Found
	next := "\x00"
	for more := true; more; {
		page, err := client.Get(ctx, next, clientv3.WithFromKey(), clientv3.WithKeysOnly(), clientv3.WithLimit(keysPageSize))
		if err != nil {
			return nil, fmt.Errorf("look for stores: %w", err)
		}
		for _, kv := range page.Kvs {
			prefix, found := guard.PrefixOf(string(kv.Key))
			if !found {
				continue
			}
			value, err := client.Get(ctx, string(kv.Key))
			if err != nil {
				return nil, fmt.Errorf("look for stores: %w", err)
			}
			var record guard.Record
			// Objects of others can have the same name.
			if len(value.Kvs) == 0 || json.Unmarshal(value.Kvs[0].Value, &record) != nil || record.Identity == "" {
				continue
			}
			if !record.Candidate && record.Cause != guard.Copying {
				all = append(all, Found{prefix, record})
			}
		}
		if more = page.More; more {
			next = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
		}
	}
	return all, nil
}

// record returns the store of the record, as the guard uses it.
func (s *Store) record() *guard.Etcd {
	return &guard.Etcd{Client: s.Client, Prefix: s.Prefix, Groups: s.Groups}
}

// root returns the prefix of all keys, with a slash at both ends.
func (s *Store) root() string { return path.Join("/", s.Prefix) + "/" }

// each calls do for all objects of the store at its current revision, in pages, and returns the revision. All pages
// and groups are read at the revision of the first page, so writes in the meantime do not show. An error of do ends
// it. A long run fails if that revision is compacted.
func (s *Store) each(ctx context.Context, do func([]*mvccpb.KeyValue) error) (revision int64, err error) {
	return s.pages(ctx, true, do)
}

// eachNow is each, but reads every page as it is at that time. So it can take as long as it needs. Objects that are written behind it do
// not show.
func (s *Store) eachNow(ctx context.Context, do func([]*mvccpb.KeyValue) error) error {
	_, err := s.pages(ctx, false, do)
	return err
}

// pages calls do for all objects. If fixed is true, all pages are read at the revision of the first one, which it returns.
func (s *Store) pages(ctx context.Context, fixed bool, do func([]*mvccpb.KeyValue) error) (revision int64, err error) {
	for _, group := range s.Groups {
		next, end := s.root()+group+"/", clientv3.GetPrefixRangeEnd(s.root()+group+"/")
		for more := true; more; {
			page, err := s.Client.Get(ctx, next, clientv3.WithRange(end), clientv3.WithLimit(pageSize), clientv3.WithRev(revision))
			if err != nil {
				return revision, fmt.Errorf("read the objects of %s: %w", group, err)
			}
			if fixed && revision == 0 {
				revision = page.Header.GetRevision()
			}
			if len(page.Kvs) > 0 {
				if err := do(page.Kvs); err != nil {
					return revision, err
				}
				// The next page starts behind the last key.
				next = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
			}
			more = page.More
		}
	}
	return revision, nil
}
