package operation

import (
	"context"
	"fmt"
	"strings"

	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"
)

// Encrypted counts the objects of one resource. Total includes those that were not rewritten.
type Encrypted struct {
	Resource schema.GroupResource
	// Rewritten is the number of objects that were stored with another key or in plain text.
	Total, Rewritten int
}

// Encrypt writes each object again that is not stored with the first provider of its resource. The content does not
// change. It returns the counts in the order of the keys. Servers may run at the same time. It can be interrupted and
// repeated: objects that are done are not written again.
func Encrypt(ctx context.Context, store *Store, transformers value.ResourceTransformers) ([]Encrypted, error) {
	var counts []Encrypted
	err := store.eachNow(ctx, func(page []*mvccpb.KeyValue) error {
		for _, kv := range page {
			resource, err := store.resourceOf(string(kv.Key))
			if err != nil {
				return err
			}
			// The keys come in order, so all objects of a resource follow each other.
			if len(counts) == 0 || counts[len(counts)-1].Resource != resource {
				counts = append(counts, Encrypted{Resource: resource})
			}
			current := &counts[len(counts)-1]
			current.Total++
			rewritten, err := store.encrypt(ctx, kv, transformers.TransformerForResource(resource))
			if err != nil {
				return fmt.Errorf("encrypt %s: %w", kv.Key, err)
			}
			if rewritten {
				current.Rewritten++
			}
		}
		return nil
	})
	return counts, err
}

// resourceOf returns the resource of a key, which is <prefix>/<group>/<resource>/….
func (s *Store) resourceOf(key string) (schema.GroupResource, error) {
	parts := strings.SplitN(strings.TrimPrefix(key, s.root()), "/", 3)
	if len(parts) < 3 {
		return schema.GroupResource{}, fmt.Errorf("key %s is not the key of an object", key)
	}
	return schema.GroupResource{Group: parts[0], Resource: parts[1]}, nil
}

// encrypt writes one object again if necessary. If another client changes the object at the same time, it tries again
// with the new content, which it gets in the same answer.
func (s *Store) encrypt(ctx context.Context, kv *mvccpb.KeyValue, transformer value.Transformer) (rewritten bool, err error) {
	key := string(kv.Key)
	for {
		// stale is true if the value was not written by the first provider.
		plain, stale, err := transformer.TransformFromStorage(ctx, kv.Value, value.DefaultContext(key))
		if err != nil || !stale {
			return false, err
		}
		data, err := transformer.TransformToStorage(ctx, plain, value.DefaultContext(key))
		if err != nil {
			return false, err
		}
		response, err := s.Client.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(key), "=", kv.ModRevision)).
			Then(clientv3.OpPut(key, string(data))).
			Else(clientv3.OpGet(key)).Commit()
		if err != nil || response.Succeeded {
			return err == nil, err
		}
		changed := response.Responses[0].GetResponseRange().Kvs
		if len(changed) == 0 {
			return false, nil // It was deleted.
		}
		kv = changed[0]
	}
}
