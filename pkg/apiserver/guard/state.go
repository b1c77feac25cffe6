package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// phase is the progress of the start.
type phase int

const (
	// starting means that the store has not been checked yet, or does not answer.
	starting phase = iota
	// opening means that the store is the right one and the caches are being filled.
	opening
	// open means that objects are served. closed means that an operator must decide, or that the process is about to
	// exit.
	open
	closed
)

// state is what clients and probes see. It is immutable; a change replaces it.
type state struct {
	phase  phase
	reason Reason
	// trouble describes the problem. It is empty if no problem exists.
	trouble string
	// refusal is the error of every request for objects, or nil.
	refusal error
}

// newState computes the refusal once, so that Check costs one atomic read. In the phase opening, the store can be
// used: the storages need it to fill the caches, and those that are not filled yet refuse by themselves.
func newState(phase phase, reason Reason, trouble string) *state {
	s := &state{phase: phase, reason: reason, trouble: trouble}
	switch phase {
	case starting:
		s.refusal = apierrors.NewServiceUnavailable("the store is not open: " + trouble)
	case closed:
		s.refusal = apierrors.NewServiceUnavailable("the store is closed: " + trouble)
	case opening, open:
	}
	return s
}

// Check returns nil while the store may be used, else the error for clients. It is called at least twice for each
// request.
func (g *Guard) Check() error { return g.state.Load().refusal }

// Ready returns nil while objects are served, else the problem. An open store that does not answer at the moment is
// not ready, but Check lets its requests through: they fail by themselves, and need not fail once etcd answers again.
func (g *Guard) Ready() error {
	switch s := g.state.Load(); {
	case s.phase == closed:
		return errors.New("the store is closed: " + s.trouble)
	case s.phase != open:
		return errors.New("the store is not open: " + s.trouble)
	case s.trouble != "":
		return errors.New(s.trouble)
	}
	return nil
}

// Opened returns a channel that is closed once objects are served.
func (g *Guard) Opened() <-chan struct{} { return g.opened }

// Wrote is called before each write, so that the generation increases. A write that fails increases it too, which
// does no harm.
func (g *Guard) Wrote() { g.wrote.Store(true) }

// LimitBy refuses new and larger objects while problem returns a non-empty text. It is called once, before the server runs.
// problem is called for each creation and update, so it must not block.
func (g *Guard) LimitBy(problem func() string) { g.full.Store(&problem) }

// Room returns nil while objects may be created and may grow, else the error for clients.
func (g *Guard) Room() error {
	problem := g.full.Load()
	if problem == nil {
		return nil
	}
	if text := (*problem)(); text != "" {
		return full(text)
	}
	return nil
}

// codeFull is the HTTP status of a write that the store has no space for. It is 507 and not 429 or 503, because a
// retry without a change does not help.
const codeFull = http.StatusInsufficientStorage

// Explain translates the out-of-space error of etcd. It returns other errors unchanged, also nil.
func (g *Guard) Explain(err error) error {
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		return err
	}
	return full("the store is full")
}

// full returns the error of a write that the store has no space for.
func full(problem string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: codeFull, Reason: "InsufficientStorage",
		Message: problem + ": delete objects that you do not need, or ask the administrator to raise the quota; objects can still be read " +
			"and deleted",
	}}
}

// Verify reads the record over a new connection. If it belongs to another store, Verify closes the guard and returns
// an error. It must be called before the connection is used, because even one answer of a wrong store does harm.
// Before the store was accepted, there is nothing to compare with, and no storage uses a connection.
func (g *Guard) Verify(ctx context.Context, read func(context.Context) (Reading, error)) error {
	known := g.known.Load()
	if known == nil {
		return nil
	}
	reading, err := read(ctx)
	if err != nil {
		return err
	}
	if reason, message := known.contradicts(&reading); reason != "" {
		g.shut(reason, message, known.rollback(&reading))
		return fmt.Errorf("connection refused: %s", message)
	}
	return nil
}

// known is the last reading of the record. It is immutable.
type known struct{ Reading }

// contradicts returns why a later reading cannot come from the same store. The reason is empty if it can. "Later" is
// the order of the requests, so a revision of etcd that is lower shows that etcd lost writes, even if the record is
// unchanged.
func (k *known) contradicts(later *Reading) (Reason, string) {
	switch {
	case later.Record == nil || later.Record.Candidate:
		return Wiped, fmt.Sprintf("the store has lost its record; expected identity %s at generation %d", k.Record.Identity, k.Record.Generation)
	case later.Record.Incomplete:
		return Incomplete, later.Record.incompletion()
	case later.Record.Identity != k.Record.Identity:
		return Replaced, fmt.Sprintf("this is another store: its identity is %s, expected %s", later.Record.Identity, k.Record.Identity)
	case later.Record.Generation < k.Record.Generation:
		return RolledBack, fmt.Sprintf("the store was rolled back from generation %[2]d to %[1]d",
			later.Record.Generation, k.Record.Generation)
	case later.Record.Cluster != k.Record.Cluster:
		return Replaced, foreignText(later.Record.Cluster)
	case later.Cluster != k.Cluster:
		return Replaced, fmt.Sprintf("etcd's cluster ID changed from %x to %x", k.Cluster, later.Cluster)
	case later.Revision < k.Revision:
		return RolledBack, fmt.Sprintf("the store was rolled back: etcd went from revision %[2]d back to %[1]d", later.Revision, k.Revision)
	}
	return "", ""
}

// rollback returns true if only the revision of etcd decreased. A later start could not detect that.
func (k *known) rollback(later *Reading) bool {
	return later.Record != nil && later.Record.Identity == k.Record.Identity && later.Record.Generation == k.Record.Generation &&
		later.Cluster == k.Cluster && later.Revision < k.Revision
}
