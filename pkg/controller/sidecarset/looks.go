package sidecarset

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

const (
	// fewNamespaces is how many namespaces are looked at in each pass.
	fewNamespaces = 100
	// lookPeriod is the time between two looks at all namespaces, for each namespace. A look takes a small part of it.
	lookPeriod = time.Millisecond
)

// looks keeps what the last look at all namespaces found. A SidecarSet whose Pods change all the time has many passes in a second, and with
// thousands of namespaces the looks would keep a core busy.
type looks struct {
	lock sync.Mutex
	of   map[types.UID]look
}

// look is what was found for one generation of a SidecarSet.
type look struct {
	generation int64
	at         time.Time
	names      []string
	clash      string
}

// last returns the last look, and how long it is still good enough.
func (l *looks) last(set *v1beta1.SidecarSet, namespaces int, now time.Time) (look, time.Duration) {
	if namespaces <= fewNamespaces {
		return look{}, 0
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	known, found := l.of[set.UID]
	if !found || known.generation != set.Generation {
		return look{}, 0
	}
	return known, time.Duration(namespaces)*lookPeriod - now.Sub(known.at)
}

// keep stores a look.
func (l *looks) keep(set *v1beta1.SidecarSet, found look) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.of == nil {
		l.of = map[types.UID]look{}
	}
	l.of[set.UID] = found
}

func (l *looks) forget(set types.UID) {
	l.lock.Lock()
	defer l.lock.Unlock()
	delete(l.of, set)
}
