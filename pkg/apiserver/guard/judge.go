package guard

import "fmt"

// Reason says in a word why the store is closed. It is a metric's label.
type Reason string

// Reasons.
const (
	Wiped      Reason = "Wiped"
	Replaced   Reason = "Replaced"
	RolledBack Reason = "RolledBack"
	Empty      Reason = "Empty"
)

// seen is what a judgement is made of.
type seen struct {
	cluster clusterRecord
	store   *Record
	// host is the UID of this cluster.
	host string
	// holds says that the store has objects, dependent names an object of the cluster whose owner is of our groups. They are looked
	// up where wantsObjects and wantsDependents say so.
	holds     bool
	dependent string
}

// verdict says whether the store is served.
type verdict struct {
	// closed is empty where it is served.
	closed  Reason
	message string
	// identity and generation are what the record becomes. An empty identity is that which the cluster chooses.
	identity   string
	generation int64
	// note says why an operator may want to know that it was opened.
	note string
}

// marked returns the store's record unless it is a candidate's.
func (s *seen) marked() *Record {
	if s.store == nil || s.store.Candidate {
		return nil
	}
	return s.store
}

// identity is the name that the store has, if any.
func (s *seen) identity() string {
	if s.store == nil {
		return ""
	}
	return s.store.Identity
}

func (s *seen) confirmed() bool { return s.store != nil && s.cluster.Confirmed == s.store.Token() }

// wantsObjects says that only objects in the store tell an adoption from a loss.
func (s *seen) wantsObjects() bool { return s.cluster.Identity == "" && !s.confirmed() }

// wantsDependents says that only the cluster's objects tell a first start from a loss.
func (s *seen) wantsDependents() bool { return s.wantsObjects() && !s.holds }

// judge compares the two records. The cluster's was read first, so the store's is never older than it without a loss.
func judge(s *seen) verdict {
	switch {
	case s.confirmed():
		return verdict{
			identity: s.store.Identity, generation: max(s.store.Generation, s.cluster.Generation) + 1,
			note: "The store was opened by the operator's annotation",
		}
	case s.cluster.Lost != "":
		return verdict{closed: RolledBack, message: s.cluster.Lost}
	case s.cluster.Identity == "":
		return s.judgeUnexpected()
	default:
		return s.judgeExpected()
	}
}

// judgeExpected is for a cluster that expects a certain store.
func (s *seen) judgeExpected() verdict {
	store := s.marked()
	switch {
	case store == nil:
		return verdict{closed: Wiped, message: fmt.Sprintf(
			"the store has lost its record: it is empty, or restored from a backup without one; expected identity %s at generation %d",
			s.cluster.Identity, s.cluster.Generation)}
	case store.Identity != s.cluster.Identity:
		return verdict{closed: Replaced, message: fmt.Sprintf("this is another store: its identity is %s, expected %s",
			store.Identity, s.cluster.Identity)}
	case store.Generation < s.cluster.Generation:
		return verdict{closed: RolledBack, message: fmt.Sprintf("the store was rolled back: it is at generation %d, and has been at %d",
			store.Generation, s.cluster.Generation)}
	default:
		return verdict{identity: store.Identity, generation: store.Generation}
	}
}

// judgeUnexpected is for a cluster that has no record: what there is in the store and in the cluster decides.
func (s *seen) judgeUnexpected() verdict {
	store := s.marked()
	switch {
	case store != nil && store.Cluster != "" && store.Cluster != s.host:
		return verdict{closed: Replaced, message: fmt.Sprintf("the store belongs to another cluster, whose namespace kube-system has UID %s",
			store.Cluster)}
	case s.holds && s.store == nil:
		return verdict{generation: 1, note: "The store holds objects and has no record yet: it was adopted"}
	case s.holds:
		return verdict{
			identity: s.store.Identity, generation: max(s.store.Generation, 1),
			note: "The cluster had no record of the store: it was adopted as it is",
		}
	case s.dependent != "":
		return verdict{closed: Empty, message: fmt.Sprintf("the store is empty, but %s has an owner that should be in it", s.dependent)}
	default:
		return verdict{identity: s.identity(), generation: 1}
	}
}
