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

// phase is how far the start has come.
type phase int

const (
	// starting: nobody has looked at the store yet, or it does not answer.
	starting phase = iota
	// opening: the store is the right one, and the caches are being filled.
	opening
	open
	closed
)

// state is what clients and probes are told. It never changes: another one takes its place.
type state struct {
	phase  phase
	reason Reason
	// trouble says in words what is missing. It is empty when all is well.
	trouble string
	// refusal is the error of every request for an object, or nil.
	refusal error
}

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

// Check returns nil while the store may be used, otherwise the error that clients get.
func (g *Guard) Check() error { return g.state.Load().refusal }

// Ready returns nil when objects are served, otherwise what is missing.
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

// Opened is closed once objects are served.
func (g *Guard) Opened() <-chan struct{} { return g.opened }

// Wrote is told of each write before it is sent: the generation advances.
func (g *Guard) Wrote() { g.wrote.Store(true) }

// LimitBy has new objects refused while problem returns a text.
func (g *Guard) LimitBy(problem func() string) { g.full.Store(&problem) }

// Room returns nil while new objects may be created.
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

// codeFull is the HTTP status of a write for which the store has no space.
const codeFull = http.StatusInsufficientStorage

// Explain says in words that the store is full. Other errors stay as they are.
func (g *Guard) Explain(err error) error {
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		return err
	}
	return full("the store is full")
}

// full is the error of a write for which there is no space.
func full(problem string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: codeFull, Reason: "InsufficientStorage",
		Message: problem + ": delete objects that are not needed, or ask the administrator to raise its quota; " +
			"objects can be read and deleted meanwhile",
	}}
}

// Verify returns an error where the store at an address is not the one that is served, and closes the guard. It is asked before a
// connection is used: the first answer of a wrong store is one too many.
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
		return fmt.Errorf("refuse the connection: %s", message)
	}
	return nil
}

// known is what the store said last.
type known struct{ Reading }

// contradicts says what a later answer has that the same store cannot have.
func (k *known) contradicts(later *Reading) (Reason, string) {
	switch {
	case later.Record == nil || later.Record.Candidate:
		return Wiped, fmt.Sprintf("the store has lost its record; expected identity %s at generation %d", k.Record.Identity, k.Record.Generation)
	case later.Record.Identity != k.Record.Identity:
		return Replaced, fmt.Sprintf("this is another store: its identity is %s, expected %s", later.Record.Identity, k.Record.Identity)
	case later.Record.Generation < k.Record.Generation:
		return RolledBack, fmt.Sprintf("the store was rolled back: it is at generation %d, and has been at %d",
			later.Record.Generation, k.Record.Generation)
	case later.Cluster != k.Cluster:
		return Replaced, fmt.Sprintf("etcd's cluster ID changed from %x to %x", k.Cluster, later.Cluster)
	case later.Revision < k.Revision:
		return RolledBack, fmt.Sprintf("the store was rolled back: etcd is at revision %d, and has been at %d", later.Revision, k.Revision)
	}
	return "", ""
}

// rollback says that only we have seen the loss: a later start could not find it again.
func (k *known) rollback(later *Reading) bool {
	return later.Record != nil && later.Record.Identity == k.Record.Identity && later.Record.Generation == k.Record.Generation &&
		later.Cluster == k.Cluster && later.Revision < k.Revision
}
