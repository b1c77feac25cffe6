package kubelet

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestNewest(t *testing.T) {
	instance := func(name, id string, created int64) *runtimeapi.Container {
		return &runtimeapi.Container{Id: id, CreatedAt: created, Labels: map[string]string{ContainerNameLabel: name}}
	}
	newest := Newest([]*runtimeapi.Container{instance("main", "b", 2), instance("side", "c", 1), instance("main", "a", 1), instance("main", "d", 3)})
	assert.Len(t, newest, 2)
	assert.Equal(t, "d", newest["main"].Id)
	assert.Equal(t, "c", newest["side"].Id)
}

func TestAnnotationsOfInstances(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		restarts    int32
		hash        uint64
	}{
		"both":       {map[string]string{RestartCountKey: "7", HashKey: "fedcba9876543210"}, 7, 0xfedcba9876543210},
		"none":       {nil, 0, 0},
		"unreadable": {map[string]string{RestartCountKey: "99999999999", HashKey: "xyz"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			container := &runtimeapi.Container{Annotations: test.annotations}
			assert.Equal(t, test.restarts, RestartCount(container))
			assert.Equal(t, test.hash, Hash(container))
		})
	}
}

// lister answers with the labels that it is asked for.
type lister struct{ err error }

func (l lister) ListContainers(_ context.Context, filter *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error) {
	return []*runtimeapi.Container{{Labels: filter.LabelSelector}}, l.err
}

func TestList(t *testing.T) {
	labels := map[string]string{PodUIDLabel: "u"}
	listed, err := List(t.Context(), lister{}, labels)
	require.NoError(t, err)
	require.Len(t, listed, 1)
	assert.Equal(t, labels, listed[0].Labels)
	_, err = List(t.Context(), lister{errors.New("away")}, labels)
	assert.EqualError(t, err, "list containers: away")
}
