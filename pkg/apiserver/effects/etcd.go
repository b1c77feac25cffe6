package effects

import (
	"context"
	"fmt"
	"path"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// ReadFrom returns a function that reads which SidecarSets are stored. prefix is the common prefix of all keys. It is one linearizable
// request, which returns one key without its value.
func ReadFrom(client *clientv3.Client, prefix string) func(context.Context) (Stored, error) {
	below := path.Join("/", prefix, "apps.kruise.io", sidecarSets) + "/"
	return func(ctx context.Context) (Stored, error) {
		response, err := client.Get(ctx, below, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(1),
			clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortDescend))
		if err != nil {
			return Stored{}, fmt.Errorf("read the versions of SidecarSets: %w", err)
		}
		stored := Stored{Count: response.Count, Revision: response.Header.GetRevision()}
		if len(response.Kvs) > 0 {
			stored.Newest = response.Kvs[0].ModRevision
		}
		return stored, nil
	}
}
