package guard

import "fmt"

// Reason is why the store is closed. It is also a metric label.
type Reason string

// Reasons. Runbooks and alerts use these names.
const (
	// Wiped means that the store has no record, but the cluster has one.
	Wiped Reason = "Wiped"
	// Replaced means that the store has another identity than the cluster expects, or belongs to another cluster.
	Replaced Reason = "Replaced"
	// RolledBack means that the store is older than the cluster expects.
	RolledBack Reason = "RolledBack"
	// Empty means that the cluster has no record of a store, and that the store has no objects but should have some.
	Empty Reason = "Empty"
	// Incomplete means that an import or a copy writes the store, or that an operator has closed it.
	Incomplete Reason = "Incomplete"
)

// seen is the input of judge. It is complete before judge is called, so judge reads nothing.
type seen struct {
	// cluster is the cluster's copy of the record. store is the record in the store, or nil.
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

// marked returns the record of the store, or nil if that is missing or only a candidate. A candidate was written by a
// closed guard, and says nothing about what the store held before.
func (s *seen) marked() *Record {
	if s.store == nil || s.store.Candidate {
		return nil
	}
	return s.store
}

// foreign returns true if the store belongs to another cluster. The ConfigMap cannot tell: a backup of another cluster contains it too.
func (s *seen) foreign() bool {
	store := s.marked()
	return store != nil && store.Cluster != "" && store.Cluster != s.host
}

// foreignText says to which cluster a store belongs.
func foreignText(cluster string) string {
	return fmt.Sprintf("the store belongs to another cluster, whose namespace kube-system has UID %s", cluster)
}

// identity returns the identity of the store, or an empty string if it has none.
func (s *seen) identity() string {
	if s.store == nil {
		return ""
	}
	return s.store.Identity
}

// confirmed returns true if the operator has named exactly this store at this generation.
func (s *seen) confirmed() bool { return s.store != nil && s.cluster.Confirmed == s.store.Token() }

// wantsObjects returns true if the objects in the store decide between an adoption and a loss.
func (s *seen) wantsObjects() bool { return s.cluster.Identity == "" && !s.confirmed() }

// wantsDependents returns true if the objects in the cluster decide between a first start and a loss.
func (s *seen) wantsDependents() bool { return s.wantsObjects() && !s.holds && !s.unfilled() }

// unfilled returns true if a take-over has to fill the store, and has not completed that. A take-over without any
// object leaves only its record.
func (s *seen) unfilled() bool { return s.awaits && s.marked() == nil }

// judge compares the two records. The cluster's record was read first. So the store's record can only be older if the
// store lost writes. The order of the cases matters: an incomplete import cannot be confirmed, and a confirmation
// comes before every other reason to stay closed.
func judge(s *seen) verdict {
	switch {
	case s.store != nil && s.store.Incomplete:
		return verdict{closed: Incomplete, message: s.store.incompletion()}
	case s.confirmed():
		// The generation is above both, so no earlier copy of the store, and no store that another replica serves, is
		// accepted after this.
		return verdict{
			identity: s.store.Identity, generation: max(s.store.Generation, s.cluster.Generation) + lead,
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

// judgeExpected judges the store if the cluster has a record. A store with a higher generation is accepted: the
// process ended after it wrote the store and before it wrote the cluster.
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
	case s.foreign():
		return verdict{closed: Replaced, message: foreignText(store.Cluster)}
	case store.Generation == RestoredGeneration:
		return verdict{closed: RolledBack, message: fmt.Sprintf("the store was restored from a snapshot, expected generation %d",
			s.cluster.Generation)}
	case store.Generation < s.cluster.Generation:
		return verdict{closed: RolledBack, message: fmt.Sprintf("the store was rolled back from generation %[2]d to %[1]d",
			store.Generation, s.cluster.Generation)}
	case store.Copied:
		// Servers of the original may still run. They find this generation in the cluster, and close.
		return verdict{
			identity: store.Identity, generation: store.Generation + lead, note: "Opened a copy of the store in place of the original",
		}
	default:
		return verdict{identity: store.Identity, generation: store.Generation}
	}
}

// lead is by how much the generation grows when another store is opened than the one that was served before. A server that still serves
// that one would need hours of writes to reach it, and it looks at the cluster's generation every ten seconds.
const lead = 1000

// judgeUnexpected judges the store if the cluster has no record. The objects in the store and in the cluster decide.
// A store with objects is adopted, because serving it loses nothing. An empty store is a first start only if nothing
// in the cluster depends on it.
func (s *seen) judgeUnexpected() verdict {
	store := s.marked()
	switch {
	case s.foreign():
		return verdict{closed: Replaced, message: foreignText(store.Cluster)}
	case s.holds && s.store == nil:
		return verdict{generation: 1, note: "Adopted a store that holds objects and has no record yet"}
	case s.holds:
		return verdict{
			identity: s.store.Identity, generation: max(s.store.Generation, 1),
			note: "Adopted the store, because the cluster has no record of it",
		}
	case s.unfilled():
		return verdict{closed: Empty, message: "the store is empty until a take-over fills it"}
	case s.dependent != "":
		return verdict{closed: Empty, message: fmt.Sprintf("the store is empty, but it must contain the owner of %s", s.dependent)}
	case store != nil:
		return verdict{identity: store.Identity, generation: max(store.Generation, 1)}
	default:
		return verdict{identity: s.identity(), generation: 1}
	}
}
