package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Report says what an import would do, and why it may not be done. It is printed as JSON.
type Report struct {
	// Objects and Bytes count what would be stored, keys included. Kinds counts objects by resource.
	Objects int            `json:"objects"`
	Bytes   int64          `json:"bytes"`
	Kinds   map[string]int `json:"kinds,omitempty"`
	// Refused are objects that cannot be imported. Nothing is imported if there is one.
	Refused []Refused `json:"refused,omitempty"`
	// Changes are the fields that clients read differently, by kind and path.
	Changes []KindChange `json:"changes,omitempty"`
}

// Refused is an object that cannot be imported.
type Refused struct {
	Object   string   `json:"object"`
	Problems []string `json:"problems"`
}

// KindChange is a change that objects of one kind have in common.
type KindChange struct {
	Kind string `json:"kind"`
	// Change has the path without indexes, and the values of the first object.
	Change
	// Object is the first object. Objects is the number of them.
	Object  string `json:"object"`
	Objects int    `json:"objects"`
	// Lost is true if a value is no longer there.
	Lost bool `json:"lost,omitempty"`
}

// Losses returns the changes in which a value is no longer there. An operator has to accept them, while other changes
// are defaults or other forms.
func (r *Report) Losses() []KindChange {
	return slices.DeleteFunc(slices.Clone(r.Changes), func(c KindChange) bool { return !c.Lost })
}

// refuse adds a refused object to the report.
func (r *Report) refuse(refusal *Refusal) {
	refused := Refused{Object: refusal.Name.String()}
	for _, problem := range refusal.Problems {
		refused.Problems = append(refused.Problems, strings.TrimPrefix(problem.Error(), ": "))
	}
	r.Refused = append(r.Refused, refused)
}

// indexes finds list indexes in a path. Changes at different indexes are one change in the report.
var indexes = regexp.MustCompile(`\[\d+\]`)

// add counts an object and its changes. An object counts once for each path, however many list elements have the
// change.
func (r *Report) add(object *Object, kind schema.GroupResource) {
	r.Objects++
	r.Bytes += int64(len(object.Key) + len(object.Value))
	if r.Kinds == nil {
		r.Kinds = map[string]int{}
	}
	r.Kinds[kind.String()]++
	seen := map[string]bool{}
	for _, change := range object.Changes {
		path := indexes.ReplaceAllString(change.Path, "[]")
		// Losses and other changes at one path are different lines of the report.
		lost := change.Lost()
		if key := fmt.Sprint(path, lost); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		at := slices.IndexFunc(r.Changes, func(c KindChange) bool {
			return c.Kind == kind.String() && c.Path == path && c.Lost == lost
		})
		if at >= 0 {
			r.Changes[at].Objects++
			continue
		}
		change.Path = path
		r.Changes = append(r.Changes, KindChange{
			Kind: kind.String(), Change: change, Object: strings.TrimPrefix(object.Namespace+"/"+object.Name, "/"), Objects: 1, Lost: lost,
		})
	}
}
