package cloneset

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
	client "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

// setServer keeps every version of one CloneSet, for a controller whose cache lags.
type setServer struct {
	server   *controllertest.Server
	versions []*v1beta1.CloneSet
	// seen is the version that the cache shows.
	seen int
}

func (s *setServer) newest() *v1beta1.CloneSet { return s.versions[len(s.versions)-1] }

func (s *setServer) cached() *v1beta1.CloneSet { return s.versions[s.seen] }

// lag makes the cache show a random number of further versions.
func (s *setServer) lag() { s.seen += s.server.Rand.IntN(len(s.versions) - s.seen) }

func (s *setServer) catchUp() { s.seen = len(s.versions) - 1 }

func (s *setServer) store(set *v1beta1.CloneSet) *v1beta1.CloneSet {
	set.ResourceVersion = strconv.Itoa(len(s.versions) + 1)
	s.versions = append(s.versions, set)
	return set
}

// edit changes the spec as a user does.
func (s *setServer) edit(change func(*v1beta1.CloneSetSpec)) {
	set := s.newest().DeepCopy()
	change(&set.Spec)
	set.Generation++
	s.store(set)
}

// LastStoreSyncResourceVersion implements consistency.Store.
func (s *setServer) LastStoreSyncResourceVersion() string { return s.cached().ResourceVersion }

// GetByKey implements consistency.Store.
func (s *setServer) GetByKey(string) (any, bool, error) { return s.cached(), true, nil }

// setClient is the client through which the controller writes the CloneSet.
type setClient struct {
	client.CloneSetInterface
	*setServer
}

func (c setClient) CloneSets(string) client.CloneSetInterface { return c }

func (c setClient) Get(context.Context, string, metav1.GetOptions) (*v1beta1.CloneSet, error) {
	return c.newest(), nil
}

func (c setClient) UpdateStatus(_ context.Context, set *v1beta1.CloneSet, _ metav1.UpdateOptions) (*v1beta1.CloneSet, error) {
	return c.change(set.ResourceVersion, func(stored *v1beta1.CloneSet) error {
		stored.Status = *set.Status.DeepCopy()
		return nil
	})
}

func (c setClient) Patch(_ context.Context, _ string, _ types.PatchType, data []byte, _ metav1.PatchOptions,
	_ ...string) (*v1beta1.CloneSet, error) {
	patch := &v1beta1.CloneSet{}
	if err := json.Unmarshal(data, patch); err != nil {
		return nil, err
	}
	return c.change(patch.ResourceVersion, func(stored *v1beta1.CloneSet) error {
		stored.Generation++
		return json.Unmarshal(data, stored)
	})
}

func (c setClient) change(version string, edit func(*v1beta1.CloneSet) error) (*v1beta1.CloneSet, error) {
	written, err := c.server.Write(func() (metav1.Object, error) {
		stored := c.newest().DeepCopy()
		if stored.ResourceVersion != version {
			return nil, apierrors.NewConflict(clonesets.GroupResource(), stored.Name, errors.New("another version"))
		}
		if err := edit(stored); err != nil {
			return nil, err
		}
		return c.store(stored), nil
	})
	if err != nil {
		return nil, err
	}
	return written.(*v1beta1.CloneSet), nil
}
