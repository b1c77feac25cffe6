package guard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"
)

const (
	// probePeriod is how often the guard checks that the store is still the same. It is also the pause between two
	// attempts to open the store.
	probePeriod = time.Second
	// advancePeriod is how often the generation increases while there are writes. A rollback by less time may not be detected.
	advancePeriod = 10 * time.Second
	// callTimeout limits one step, which can be several requests.
	callTimeout = 5 * time.Second
	// dependentsPeriod is how often a closed guard searches the cluster for dependents again. It is also the longest
	// pause after a search that failed.
	dependentsPeriod = time.Minute
	// dependentsTimeout limits one search. It is enough for hundreds of thousands of Pods in pages.
	dependentsTimeout = 15 * time.Minute
)

// ErrClosed is returned by Run if the store is not the one that was served before. The caches then hold objects of
// the other store, so the process must exit. It checks the store again when it restarts.
var ErrClosed = errors.New("the store is closed, restarting without caches")

// Config configures a Guard.
type Config struct {
	Store    Store
	Kube     kubernetes.Interface
	Metadata metadata.Interface
	// Namespace is the namespace of the installation. Name is the name of the ConfigMap with the cluster's copy of the record.
	Namespace, Name string
	// Groups are the API groups whose objects are in the store.
	Groups sets.Set[string]
	// AwaitsTakeover keeps a store that never held objects closed, because a take-over fills it.
	AwaitsTakeover bool
	// Open opens the storages of all kinds. After an error it is called again.
	Open func(ctx context.Context) error
}

// Guard decides whether the store may be served. Its atomic fields are read by requests. Except for those and the
// channels, only the goroutine of Run uses the fields.
type Guard struct {
	// config is set by Run.
	config Config
	// state is what requests and probes see.
	state atomic.Pointer[state]
	// wrote is true if a request wrote since the last increase of the generation.
	wrote atomic.Bool
	// full returns why there is no space for new objects; it is nil without an embedded etcd.
	full atomic.Pointer[func() string]
	// known is the last reading of the open store. It is nil before the store was accepted.
	known atomic.Pointer[known]
	// opened is closed when the store opens. The guard opens once: after a loss the process exits.
	opened chan struct{}

	// closing tells Run why the guard closed. once makes sure that only the first reason counts, so the channel never
	// blocks.
	closing chan lost
	once    sync.Once

	// cluster is the cluster's copy as last read or written. Only Run accesses it.
	cluster clusterRecord
	// host is the UID of the cluster.
	host string
	// dependents is the last search for dependents.
	dependents search
	// refused is why the last complete check did not open the store. It is nil if none refused it.
	refused *closedError
	// reported is the message of the last event.
	reported string
}

// lost is why an open store was closed.
type lost struct {
	reason  Reason
	message string
	// unseen is true if a later start could not detect the loss again.
	unseen bool
}

// New returns a closed guard.
func New() *Guard {
	g := &Guard{opened: make(chan struct{}), closing: make(chan lost, 1)}
	g.state.Store(newState(starting, "", "the store has not been checked yet"))
	registerMetrics()
	return g
}

// Run checks the store, opens it when it is the right one, and then monitors it. It blocks until ctx ends. It returns
// ErrClosed if the store is no longer the one that it opened.
func (g *Guard) Run(ctx context.Context, config Config) error {
	g.config = config
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithName("store-guard"))
	if err := g.untilOpen(ctx); err != nil {
		return err
	}
	return g.watch(ctx)
}

// untilOpen checks the store until it is open. Failures, such as an etcd that does not answer, are repeated without a
// limit. It also ends if Verify finds another store while start fills the caches: the caches may then hold objects of
// both.
func (g *Guard) untilOpen(ctx context.Context) error {
	for {
		err := g.start(ctx)
		if err == nil {
			return nil
		}
		g.tell(ctx, err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case l := <-g.closing:
			g.report(ctx, l)
			return fmt.Errorf("%w: %s", ErrClosed, l.message)
		case <-time.After(probePeriod):
		}
	}
}

// closedError is the reason why start did not open the store. Other errors of start mean that the store could not be
// checked.
type closedError struct {
	reason  Reason
	message string
}

func (e *closedError) Error() string { return e.message }

// tell publishes why the store is not open. It logs only a changed problem, because start is repeated every second.
// While the store cannot be checked, a closed guard stays closed with its reason. The error is added, because it may be
// why the command of the operator does not open the store.
func (g *Guard) tell(ctx context.Context, err error) {
	next := newState(starting, "", err.Error())
	if closing, found := errors.AsType[*closedError](err); found {
		g.refused = closing
		next = newState(closed, closing.reason, closing.message)
	} else if before := g.state.Load(); before.phase == closed {
		if g.refused == nil {
			return // Verify closed the guard, and the process exits.
		}
		next = newState(closed, g.refused.reason, fmt.Sprintf("%s; the last check failed: %v", g.refused.message, err))
	}
	if before := g.state.Swap(next); before.trouble != next.trouble {
		klog.FromContext(ctx).Error(nil, "The store is not open", "reason", next.reason, "problem", next.trouble)
	}
	showReason(next.reason)
}

// start checks the store once, and opens it if it is the right one. The record is written before the storages open,
// so a crash in between leaves a store that the next start accepts in the same way.
func (g *Guard) start(ctx context.Context) error {
	reading, v, err := g.examine(ctx)
	if err != nil {
		return err
	}
	if v.closed != "" {
		return g.stayClosed(ctx, reading, v)
	}
	if reading, err = g.accept(ctx, reading, v); err != nil {
		return err
	}
	// From here on, Verify compares every new connection with this reading.
	g.known.Store(&known{reading})
	g.refused = nil
	filling := newState(opening, "", "the caches are loading")
	g.state.Store(filling)
	showReason("")
	if err := g.config.Open(ctx); err != nil {
		return err
	}
	if !g.state.CompareAndSwap(filling, newState(open, "", "")) {
		return g.Ready() // Verify has seen another store in the meantime.
	}
	close(g.opened)
	klog.FromContext(ctx).Info("The store is open", "identity", reading.Record.Identity, "generation", reading.Record.Generation)
	return nil
}

// examine reads both records and judges them. It reads the cluster's record first. Another replica may advance both
// in the meantime, and the store's record must not look older. The expensive searches for objects and dependents are
// done only if their result decides.
func (g *Guard) examine(ctx context.Context) (Reading, verdict, error) {
	short, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var err error
	if g.cluster, err = readCluster(short, g.configMaps(), g.config.Name); err != nil {
		return Reading{}, verdict{}, err
	}
	reading, err := g.config.Store.Read(short)
	if err != nil {
		return Reading{}, verdict{}, fmt.Errorf("etcd at %s does not answer: %w", g.config.Store.Endpoint(), err)
	}
	// The UID of kube-system stands for the cluster, because it never changes.
	host, err := g.config.Kube.CoreV1().Namespaces().Get(short, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return Reading{}, verdict{}, fmt.Errorf("read the cluster's UID: %w", err)
	}
	g.host = string(host.UID)
	s := &seen{cluster: g.cluster, store: reading.Record, host: g.host, awaits: g.config.AwaitsTakeover}
	if s.wantsObjects() {
		if s.holds, err = g.config.Store.Holds(short); err != nil {
			return Reading{}, verdict{}, err
		}
	}
	// This can take minutes in a large cluster, so it has a time limit of its own.
	if s.wantsDependents() {
		if s.dependent, err = g.dependents.find(ctx, g.config.Metadata, g.config.Groups); err != nil {
			return Reading{}, verdict{}, err
		}
	}
	return reading, judge(s), nil
}

// configMaps returns a client for the namespace of the installation.
func (g *Guard) configMaps() typedcorev1.ConfigMapInterface {
	return g.config.Kube.CoreV1().ConfigMaps(g.config.Namespace)
}

// accept writes the record of the verdict, first to the store and then to the cluster. After a crash between the two,
// the store is newer than the cluster expects, which judge accepts. The other order would make the store look rolled
// back.
func (g *Guard) accept(ctx context.Context, reading Reading, v verdict) (Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var err error
	// A new store gets the UID of the ConfigMap as its identity. The ConfigMap is created first, so several replicas
	// that start together agree on one identity: only one of them creates it, and the others get an error and start
	// again.
	if v.identity == "" {
		if g.cluster, err = g.cluster.write(ctx, g.configMaps(), "new"); err != nil {
			return Reading{}, err
		}
		v.identity = string(g.cluster.object.UID)
	}
	wanted := Record{Identity: v.identity, Generation: v.generation, Cluster: g.host}
	if reading.Record == nil || *reading.Record != wanted {
		if reading, err = g.config.Store.Write(ctx, wanted, reading.Version); err != nil {
			return Reading{}, err
		}
	}
	// The annotation of the operator and the evidence of a loss are used up, so they are removed together with the
	// write.
	changed := g.cluster
	changed.Identity, changed.Generation, changed.Lost, changed.Confirmed = v.identity, v.generation, "", ""
	if g.cluster, err = changed.write(ctx, g.configMaps(), stateOpen); err != nil {
		return Reading{}, err
	}
	if v.note != "" {
		klog.FromContext(ctx).Info(v.note, "identity", v.identity, "generation", v.generation)
		g.event(ctx, corev1.EventTypeNormal, "StoreOpened", v.note)
	}
	return reading, nil
}

// stayClosed creates a record if the store has none, so that the operator can refer to the store by a token. It
// returns an error with the command that opens the store. The record is a candidate, which does not count as a record
// of the store.
func (g *Guard) stayClosed(ctx context.Context, reading Reading, v verdict) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if reading.Record == nil {
		var err error
		reading, err = g.config.Store.Write(ctx, Record{Identity: uuid.NewString(), Candidate: true}, 0)
		if err != nil {
			return &closedError{v.closed, fmt.Sprintf("%s; it cannot be opened yet: %v", v.message, err)}
		}
	}
	closing := &closedError{v.closed, v.message + "; " + g.remedy(reading.Record, v.closed)}
	if err := g.show(ctx, closing); err != nil && !apierrors.IsConflict(err) {
		klog.FromContext(ctx).Error(err, "Failed to report in the cluster that the store is closed")
	}
	return closing
}

// remedy returns the message that tells the operator what to do. The command contains the token of this very store,
// so it cannot open another one.
func (g *Guard) remedy(record *Record, reason Reason) string {
	switch {
	case reason == Incomplete && record.Cause == Copying:
		return "run the copy again until it is complete"
	case reason == Incomplete && record.Cause == ByOperator:
		return "to serve it again, run kruise-apiserver store reopen"
	case g.config.AwaitsTakeover && reason == Empty:
		return "run kubectl kruise takeover; to start without the objects of CustomResourceDefinitions, install with takeover=false"
	case g.config.AwaitsTakeover && reason == Incomplete:
		return "run kubectl kruise takeover again until it is complete"
	case reason == Incomplete:
		return "run the import again until it is complete"
	}
	return fmt.Sprintf("restore the expected store; to serve this store instead, which deletes the Pods of lost objects, run: "+
		"kubectl -n %s annotate configmap %s --overwrite %s=%s", g.config.Namespace, g.config.Name, OpenAnnotation, record.Token())
}

// show records in the ConfigMap, and once in an event, that the store is closed. It does not change the record or the
// annotation, which an operator may be writing.
func (g *Guard) show(ctx context.Context, closing *closedError) error {
	var err error
	g.cluster, err = g.cluster.write(ctx, g.configMaps(), "closed: "+closing.message)
	if err == nil && g.reported != closing.message {
		g.reported = closing.message
		g.event(ctx, corev1.EventTypeWarning, "StoreClosed", closing.message)
	}
	return err
}
