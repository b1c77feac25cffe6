package guard

import "fmt"

// Reason is why the store is closed. It is also a metric label.
type Reason string

// Reasons.
const (
	Wiped      Reason = "Wiped"
	Replaced   Reason = "Replaced"
	RolledBack Reason = "RolledBack"
	Empty      Reason = "Empty"
	Incomplete Reason = "Incomplete"
)

// seen is the input of judge.
type seen struct {
	cluster clusterRecord
	store   *Record
	// host is the UID of this cluster.
	host string
	// holds is true if the store has objects. dependent names an object in the cluster whose owner is in one of the
	// groups. They are only set if wantsObjects and wantsDependents require them.
	holds     bool
	dependent string
	// awaits is true if a take-over fills the store.
	awaits bool
}

// verdict is the result of judge.
type verdict struct {
	// closed is empty if the store may be served.
	closed  Reason
	message string
	// identity and generation are the new record. If identity is empty, the UID of the ConfigMap becomes the identity.
	identity   string
	generation int64
	// note explains to the operator why the store was opened. It is empty for a normal start.
	note string
}

// marked returns the record of the store, or nil if that is missing or only a candidate.
func (s *seen) marked() *Record {
	if s.store == nil || s.store.Candidate {
		return nil
	}
	return s.store
}

// identity returns the identity of the store, or an empty string if it has none.
func (s *seen) identity() string {
	if s.store == nil {
		return ""
	}
	return s.store.Identity
}

func (s *seen) confirmed() bool { return s.store != nil && s.cluster.Confirmed == s.store.Token() }

// wantsObjects returns true if the objects in the store decide between an adoption and a loss.
func (s *seen) wantsObjects() bool { return s.cluster.Identity == "" && !s.confirmed() }

// wantsDependents returns true if the objects in the cluster decide between a first start and a loss.
func (s *seen) wantsDependents() bool { return s.wantsObjects() && !s.holds && !s.awaits }

// judge compares the two records. The cluster's record was read first. So the store's record can only be older if the
// store lost writes.
func judge(s *seen) verdict {
	switch {
	case s.store != nil && s.store.Incomplete:
		return verdict{closed: Incomplete, message: "the import of objects into the store is not complete"}
	case s.confirmed():
		return verdict{
			identity: s.store.Identity, generation: max(s.store.Generation, s.cluster.Generation) + 1,
			note: "Opened the store because of the operator's annotation",
		}
	case s.cluster.Lost != "":
		return verdict{closed: RolledBack, message: s.cluster.Lost}
	case s.cluster.Identity == "":
		return s.judgeUnexpected()
	default:
		return s.judgeExpected()
	}
}

// judgeExpected judges the store if the cluster has a record.
func (s *seen) judgeExpected() verdict {
	store := s.marked()
	switch {
	case store == nil:
		return verdict{closed: Wiped, message: fmt.Sprintf(
			"the store has lost its record: it is empty, or was restored from a backup without a record; expected identity %s at "+
				"generation %d",
			s.cluster.Identity, s.cluster.Generation)}
	case store.Identity != s.cluster.Identity:
		return verdict{closed: Replaced, message: fmt.Sprintf("this is another store: its identity is %s, expected %s",
			store.Identity, s.cluster.Identity)}
	case store.Generation == RestoredGeneration:
		return verdict{closed: RolledBack, message: fmt.Sprintf("the store was restored from a snapshot, expected generation %d",
			s.cluster.Generation)}
	case store.Generation < s.cluster.Generation:
		return verdict{closed: RolledBack, message: fmt.Sprintf("the store was rolled back from generation %[2]d to %[1]d",
			store.Generation, s.cluster.Generation)}
	default:
		return verdict{identity: store.Identity, generation: store.Generation}
	}
}

// judgeUnexpected judges the store if the cluster has no record. The objects in the store and in the cluster decide.
func (s *seen) judgeUnexpected() verdict {
	store := s.marked()
	switch {
	case store != nil && store.Cluster != "" && store.Cluster != s.host:
		return verdict{closed: Replaced, message: fmt.Sprintf("the store belongs to another cluster, whose namespace kube-system has UID %s",
			store.Cluster)}
	case s.holds && s.store == nil:
		return verdict{generation: 1, note: "Adopted a store that holds objects and has no record yet"}
	case s.holds:
		return verdict{
			identity: s.store.Identity, generation: max(s.store.Generation, 1),
			note: "Adopted the store, because the cluster has no record of it",
		}
	case s.awaits:
		return verdict{closed: Empty, message: "the store is empty until a take-over fills it"}
	case s.dependent != "":
		return verdict{closed: Empty, message: fmt.Sprintf("the store is empty, but it must contain the owner of %s", s.dependent)}
	default:
		return verdict{identity: s.identity(), generation: 1}
	}
}
