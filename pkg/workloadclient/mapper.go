package workloadclient

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// Mapper is the part of a meta.RESTMapper that programs need to read objects of any kind. The errors are those of meta.RESTMapper, also
// for a kind that is not served.
type Mapper interface {
	// RESTMapping returns the resource of a kind, in the version that the server prefers if no version is given.
	RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
	// KindFor returns the kind of a resource.
	KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error)
}

const (
	// mappingKept is how long a resource is used without asking the server again, as in kube-controller-manager. The preferred version
	// of a kind can change.
	mappingKept = 30 * time.Second
	// absenceKept is how long a kind counts as not served. Users create a definition and its first objects together.
	absenceKept = 5 * time.Second
)

// FreshMapper is a Mapper that reads the kinds again while the program runs. A mapper of client-go reads them once. It may be used
// concurrently.
type FreshMapper struct {
	mapper meta.ResettableRESTMapper
	clock  clock.PassiveClock
	// lock guards read, the time of the last reset.
	lock sync.Mutex
	read time.Time
}

// NewFreshMapper returns a FreshMapper that resets the mapper. The mapper must be safe for concurrent use.
func NewFreshMapper(mapper meta.ResettableRESTMapper, clock clock.PassiveClock) *FreshMapper {
	return &FreshMapper{mapper: mapper, clock: clock}
}

// RESTMapping implements Mapper.
func (m *FreshMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return find(m, func() (*meta.RESTMapping, error) { return m.mapper.RESTMapping(kind, versions...) })
}

// KindFor implements Mapper.
func (m *FreshMapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return find(m, func() (schema.GroupVersionKind, error) { return m.mapper.KindFor(resource) })
}

// find asks the mapper, and asks it again after a reset if it does not know the kind or the resource.
func find[T any](m *FreshMapper, ask func() (T, error)) (T, error) {
	m.reset(mappingKept)
	found, err := ask()
	if meta.IsNoMatchError(err) && m.reset(absenceKept) {
		return ask()
	}
	return found, err
}

// reset drops what is older than an age, and reports whether it did. The next use of the mapper asks the server.
func (m *FreshMapper) reset(age time.Duration) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	now := m.clock.Now()
	if now.Sub(m.read) < age {
		return false
	}
	m.mapper.Reset()
	m.read = now
	return true
}
