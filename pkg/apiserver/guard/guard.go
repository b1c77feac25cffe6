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
	// probePeriod is how often the store is asked whether it is still the same one.
	probePeriod = time.Second
	// advancePeriod is how often the generation advances while there are writes. A rollback by less goes unseen.
	advancePeriod = 10 * time.Second
	// callTimeout bounds one question.
	callTimeout = 5 * time.Second
	// dependentsPeriod is how often a closed guard looks at all of the cluster's Pods again.
	dependentsPeriod = time.Minute
)

// ErrClosed is the error of Run when the store turned out not to be the one that was served. The process has caches of what was
// there before, so it ends, and looks again when it starts.
var ErrClosed = errors.New("the store is closed, restarting without caches")

// Config is what a guard needs.
type Config struct {
	Store    Store
	Kube     kubernetes.Interface
	Metadata metadata.Interface
	// Namespace is that of the installation, Name that of the ConfigMap with the cluster's copy of the record.
	Namespace, Name string
	// Groups are the API groups whose objects are in the store.
	Groups sets.Set[string]
	// Open opens the storages of all kinds. It is called again after an error.
	Open func(ctx context.Context) error
}

// Guard decides whether the store is served.
type Guard struct {
	config Config
	state  atomic.Pointer[state]
	wrote  atomic.Bool
	full   atomic.Pointer[func() string]
	known  atomic.Pointer[known]
	opened chan struct{}

	// closing carries what closed the guard to Run.
	closing chan lost
	once    sync.Once

	// cluster is the cluster's copy as it was read or written last. It is Run's alone.
	cluster clusterRecord
	// host is the UID of the cluster.
	host string
	// dependent is what was found in the cluster at looked.
	dependent string
	looked    time.Time
	// reported is what an event was written for last.
	reported string
}

type lost struct {
	reason  Reason
	message string
	// unseen says that a later start could not find it again.
	unseen bool
}

// New returns a guard that is not open.
func New() *Guard {
	g := &Guard{opened: make(chan struct{}), closing: make(chan lost, 1)}
	g.state.Store(newState(starting, "", "nobody has looked at the store yet"))
	registerMetrics()
	return g
}

// Run decides whether the store is served, opens it, and watches over it. It returns when ctx ends, or with ErrClosed.
func (g *Guard) Run(ctx context.Context, config Config) error {
	g.config = config
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithName("store-guard"))
	if err := g.untilOpen(ctx); err != nil {
		return err
	}
	return g.watch(ctx)
}

// untilOpen looks at the store again and again, for as long as it takes.
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

// closedError is why start did not open the store.
type closedError struct {
	reason  Reason
	message string
}

func (e *closedError) Error() string { return e.message }

// tell says why the store is not open.
func (g *Guard) tell(ctx context.Context, err error) {
	next := newState(starting, "", err.Error())
	if closing, found := errors.AsType[*closedError](err); found {
		next = newState(closed, closing.reason, closing.message)
	}
	if before := g.state.Load(); before.phase == closed && next.phase == starting {
		return // it stays closed while nobody can look
	}
	if before := g.state.Swap(next); before.trouble != next.trouble {
		klog.FromContext(ctx).Error(nil, "The store is not open", "reason", next.reason, "problem", next.trouble)
	}
	showReason(next.reason)
}

// start looks once, and opens the store where it is the right one.
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
	g.known.Store(&known{reading})
	filling := newState(opening, "", "the caches are being filled")
	g.state.Store(filling)
	showReason("")
	if err := g.config.Open(ctx); err != nil {
		return err
	}
	if !g.state.CompareAndSwap(filling, newState(open, "", "")) {
		return g.Ready() // a connection led to another store meanwhile
	}
	close(g.opened)
	klog.FromContext(ctx).Info("The store is open", "identity", reading.Record.Identity, "generation", reading.Record.Generation)
	return nil
}

// examine reads both records and judges. The cluster's comes first: another replica may advance both meanwhile.
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
	host, err := g.config.Kube.CoreV1().Namespaces().Get(short, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return Reading{}, verdict{}, fmt.Errorf("read the cluster's UID: %w", err)
	}
	g.host = string(host.UID)
	s := &seen{cluster: g.cluster, store: reading.Record, host: g.host}
	if s.wantsObjects() {
		if s.holds, err = g.config.Store.Holds(short); err != nil {
			return Reading{}, verdict{}, err
		}
	}
	if s.wantsDependents() {
		if s.dependent, err = g.findDependent(ctx); err != nil {
			return Reading{}, verdict{}, err
		}
	}
	return reading, judge(s), nil
}

// findDependent reads the cluster's Pods, and not each second.
func (g *Guard) findDependent(ctx context.Context) (string, error) {
	if g.dependent != "" && time.Since(g.looked) < dependentsPeriod {
		return g.dependent, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dependentsPeriod)
	defer cancel()
	var err error
	g.dependent, err = findDependent(ctx, g.config.Metadata, g.config.Groups)
	g.looked = time.Now()
	return g.dependent, err
}

func (g *Guard) configMaps() typedcorev1.ConfigMapInterface {
	return g.config.Kube.CoreV1().ConfigMaps(g.config.Namespace)
}

// accept writes what the verdict says: to the store first, then to the cluster.
func (g *Guard) accept(ctx context.Context, reading Reading, v verdict) (Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var err error
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

// stayClosed gives the store a name where it has none, and says how an operator opens it.
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
	closing := &closedError{v.closed, v.message + "; " + g.remedy(reading.Record)}
	if err := g.show(ctx, closing); err != nil && !apierrors.IsConflict(err) {
		klog.FromContext(ctx).Error(err, "Failed to say in the cluster that the store is closed")
	}
	return closing
}

// remedy is the operator's command.
func (g *Guard) remedy(record *Record) string {
	return fmt.Sprintf("bring the right store back, or, if this one is to be served although Pods of lost objects will be deleted, run: "+
		"kubectl -n %s annotate configmap %s --overwrite %s=%s", g.config.Namespace, g.config.Name, OpenAnnotation, record.Token())
}

// show writes to the ConfigMap, and once to an event, that the store is closed. It leaves the annotation, which may be being
// written now, and the record.
func (g *Guard) show(ctx context.Context, closing *closedError) error {
	var err error
	g.cluster, err = g.cluster.write(ctx, g.configMaps(), "closed: "+closing.message)
	if err == nil && g.reported != closing.message {
		g.reported = closing.message
		g.event(ctx, corev1.EventTypeWarning, "StoreClosed", closing.message)
	}
	return err
}
