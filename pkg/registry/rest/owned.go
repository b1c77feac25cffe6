package rest

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/tools/cache"
)

// Owned finds the objects that an object owns.
type Owned interface {
	// OwnedBy returns the names of the objects of the namespace, or of all namespaces if it is empty, whose owner references name the UID.
	// The answer is as new as the request. The cost does not depend on the number of other objects.
	OwnedBy(ctx context.Context, namespace string, owner types.UID) ([]string, error)
}

// ownerField is the field under which the watch cache finds the objects of an owner. Clients cannot select by it.
const ownerField = "owner"

// byOwners is the index of the watch cache.
func byOwners() *cache.Indexers {
	return &cache.Indexers{storage.FieldIndex(ownerField): func(obj any) ([]string, error) {
		object, err := meta.Accessor(obj)
		if err != nil {
			return nil, fmt.Errorf("read the metadata of an object: %w", err)
		}
		references := object.GetOwnerReferences()
		owners := make([]string, len(references))
		for i := range references {
			owners[i] = string(references[i].UID)
		}
		return owners, nil
	}}
}

// ownedBy selects by the index alone. An object can have several owners, and a field has one value, so the selector matches everything.
type ownedBy struct {
	fields.Selector
	owner types.UID
}

func (*ownedBy) Matches(fields.Fields) bool { return true }
func (*ownedBy) Empty() bool                { return false }
func (s *ownedBy) RequiresExactMatch(field string) (string, bool) {
	return string(s.owner), field == ownerField
}

// OwnedBy implements Owned. The owner references are compared once more, because a store without a watch cache has no index.
func (s *store[T]) OwnedBy(ctx context.Context, namespace string, owner types.UID) (names []string, err error) {
	list, err := s.ListPredicate(genericapirequest.WithNamespace(ctx, namespace), storage.SelectionPredicate{
		Label: labels.Everything(), Field: &ownedBy{fields.Everything(), owner},
		GetAttrs: storage.DefaultNamespaceScopedAttr, IndexFields: []string{ownerField},
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", s.kind.Resource(), err)
	}
	return names, meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		owns := func(reference metav1.OwnerReference) bool { return reference.UID == owner }
		if (namespace == "" || object.GetNamespace() == namespace) && slices.ContainsFunc(object.GetOwnerReferences(), owns) {
			names = append(names, object.GetName())
		}
		return nil
	})
}
