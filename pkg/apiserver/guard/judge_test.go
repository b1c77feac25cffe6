package guard

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestJudge(t *testing.T) {
	record := func(identity string, generation int64) *Record {
		return &Record{Identity: identity, Generation: generation}
	}
	expected := clusterRecord{Identity: "a", Generation: 7}
	agreed := func(token string) clusterRecord { return clusterRecord{Identity: "a", Generation: 7, Confirmed: token} }
	agreedAfterFall := func(token string) clusterRecord {
		return clusterRecord{Identity: "a", Generation: 7, Confirmed: token, Lost: "fell"}
	}
	candidate := &Record{Identity: "c", Candidate: true}
	tests := map[string]struct {
		cluster   clusterRecord
		store     *Record
		holds     bool
		dependent string
		awaits    bool
		// want is the expected reason. If it is empty, identity and generation are the expected record.
		want       Reason
		identity   string
		generation int64
	}{
		"first start": {generation: 1},
		"first start that ended between the two writes": {
			cluster: clusterRecord{}, store: record("a", 1), identity: "a", generation: 1,
		},
		"the same store":                 {cluster: expected, store: record("a", 7), identity: "a", generation: 7},
		"an import that is not complete": {store: &Record{Identity: "import", Incomplete: true}, holds: true, want: Incomplete},
		"an import that is not complete, which an operator cannot open": {
			cluster: agreed("import/0"), store: &Record{Identity: "import", Incomplete: true}, holds: true, want: Incomplete,
		},
		"a copy that is not complete": {
			store: &Record{Identity: "a", Incomplete: true, Cause: Copying}, holds: true, want: Incomplete,
		},
		"wiped":                     {cluster: expected, want: Wiped},
		"wiped, and named since":    {cluster: expected, store: candidate, want: Wiped},
		"a backup without a record": {cluster: expected, holds: true, want: Wiped},
		"rolled back":               {cluster: expected, store: record("a", 6), holds: true, want: RolledBack},
		"restored from a snapshot":  {cluster: expected, store: record("a", 0), holds: true, want: RolledBack},
		"restored into a new cluster": {
			store: record("a", 0), holds: true, identity: "a", generation: 1,
		},
		"someone else's store":                            {cluster: expected, store: record("b", 9), holds: true, want: Replaced},
		"empty with Pods":                                 {dependent: "Pod ns/p", want: Empty},
		"empty with Pods, and named since":                {store: candidate, dependent: "Pod ns/p", want: Empty},
		"empty, the Pods are gone by now":                 {store: candidate, identity: "c", generation: 1},
		"empty before a take-over":                        {awaits: true, want: Empty},
		"empty before a take-over, and named since":       {store: candidate, awaits: true, want: Empty},
		"empty before a take-over, opened by an operator": {cluster: clusterRecord{Confirmed: "c/0"}, store: candidate, awaits: true, identity: "c", generation: lead},
		"filled by a take-over":                           {store: record("a", 3), holds: true, awaits: true, identity: "a", generation: 3},
		"a take-over without objects":                     {store: record("a", 3), awaits: true, identity: "a", generation: 3},
		"a take-over without objects, but with Pods":      {store: record("a", 3), awaits: true, dependent: "Pod ns/p", want: Empty},
		"with a record, but empty, with Pods":             {store: record("a", 3), dependent: "Pod ns/p", want: Empty},
		"objects of before there was a guard":             {holds: true, dependent: "Pod ns/p", generation: 1},
		"ConfigMap deleted":                               {store: record("a", 3), holds: true, dependent: "Pod ns/p", identity: "a", generation: 3},
		"another cluster's store":                         {store: &Record{Identity: "a", Generation: 3, Cluster: "other"}, holds: true, want: Replaced},
		"this cluster's store": {
			store: &Record{Identity: "a", Generation: 3, Cluster: "host"}, holds: true, identity: "a", generation: 3,
		},
		"another cluster's store, moved here": {
			cluster: clusterRecord{Confirmed: "a/3"}, store: &Record{Identity: "a", Generation: 3, Cluster: "other"}, identity: "a", generation: 3 + lead,
		},
		"another cluster's store, and its ConfigMap": {
			cluster: expected, store: &Record{Identity: "a", Generation: 7, Cluster: "other"}, holds: true, want: Replaced,
		},
		"another cluster's store, and its ConfigMap, moved here": {
			cluster: agreed("a/7"), store: &Record{Identity: "a", Generation: 7, Cluster: "other"}, identity: "a", generation: 7 + lead,
		},
		"another cluster's snapshot, and its ConfigMap, moved here": {
			cluster: agreed("a/0/y"), store: &Record{Identity: "a", Cluster: "other", Restoration: "y"}, identity: "a", generation: 7 + lead,
		},
		"uninstalled and reinstalled":         {cluster: expected, store: record("a", 7), holds: true, identity: "a", generation: 7},
		"uninstalled, and the volume deleted": {cluster: expected, want: Wiped},
		"the process died between the writes": {cluster: expected, store: record("a", 8), identity: "a", generation: 8},
		"etcd's revision fell, seen before": {
			cluster: clusterRecord{Identity: "a", Generation: 7, Lost: "fell"}, store: record("a", 7), want: RolledBack,
		},
		"rolled back, the operator agrees": {cluster: agreed("a/6"), store: record("a", 6), identity: "a", generation: 7 + lead},
		"wiped, the operator agrees":       {cluster: agreed("c/0"), store: candidate, identity: "c", generation: 7 + lead},
		"empty with Pods, the operator agrees": {
			cluster: clusterRecord{Confirmed: "c/0"}, store: candidate, dependent: "Pod ns/p", identity: "c", generation: lead,
		},
		"revision fell, the operator agrees": {
			cluster: agreedAfterFall("a/7"), store: record("a", 7), identity: "a", generation: 7 + lead,
		},
		"the operator agreed to another store":   {cluster: agreed("b/1"), store: candidate, want: Wiped},
		"the operator agreed to an earlier loss": {cluster: agreed("a/3"), store: record("a", 6), want: RolledBack},
		"the operator agreed to another restoration": {
			cluster: agreed("a/0/x"), store: &Record{Identity: "a", Restoration: "y"}, want: RolledBack,
		},
		"restored, the operator agrees": {
			cluster: agreed("a/0/y"), store: &Record{Identity: "a", Restoration: "y"}, identity: "a", generation: 7 + lead,
		},
		"the operator named the identity alone":      {cluster: agreed("a"), store: record("a", 6), want: RolledBack},
		"an annotation, but the store has no name":   {cluster: agreed("/0"), want: Wiped},
		"an annotation of before, all is well since": {cluster: agreed("a/3"), store: record("a", 7), identity: "a", generation: 7},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := judge(&seen{host: "host", cluster: test.cluster, store: test.store, holds: test.holds, dependent: test.dependent, awaits: test.awaits})
			assert.Equal(t, test.want, got.closed)
			assert.Equal(t, test.want != "", got.message != "")
			assert.Equal(t, test.identity, got.identity)
			assert.Equal(t, test.generation, got.generation)
		})
	}
}

func TestContradiction(t *testing.T) {
	record := func(identity string, generation int64) *Record {
		return &Record{Identity: identity, Generation: generation}
	}
	known := &known{Reading{Record: record("a", 7), Cluster: 1, Revision: 100}}
	tests := map[string]struct {
		later  Reading
		want   Reason
		unseen bool
	}{
		"same":                     {Reading{Record: record("a", 7), Cluster: 1, Revision: 100}, "", false},
		"later":                    {Reading{Record: record("a", 8), Cluster: 1, Revision: 120}, "", false},
		"wiped":                    {Reading{Cluster: 1, Revision: 1}, Wiped, false},
		"named by another replica": {Reading{Record: &Record{Identity: "c", Candidate: true}, Cluster: 1, Revision: 2}, Wiped, false},
		"replaced":                 {Reading{Record: record("b", 7), Cluster: 1, Revision: 100}, Replaced, false},
		"rolled back":              {Reading{Record: record("a", 6), Cluster: 1, Revision: 90}, RolledBack, false},
		"opened by another cluster": {
			Reading{Record: &Record{Identity: "a", Generation: 8, Cluster: "other"}, Cluster: 1, Revision: 120}, Replaced, false,
		},
		// A restore may increase the revision.
		"rolled back with a higher revision":   {Reading{Record: record("a", 6), Cluster: 2, Revision: 1000}, RolledBack, false},
		"rolled back within one generation":    {Reading{Record: record("a", 7), Cluster: 1, Revision: 99}, RolledBack, true},
		"the same content in another cluster":  {Reading{Record: record("a", 7), Cluster: 2, Revision: 100}, Replaced, false},
		"the same content at a lower revision": {Reading{Record: record("a", 8), Cluster: 1, Revision: 99}, RolledBack, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, message := known.contradicts(&test.later)
			assert.Equal(t, test.want, got, message)
			assert.Equal(t, test.unseen, known.rollback(&test.later))
		})
	}
}
