package validation

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"kruise.io/kruise/pkg/apis/apps"
)

// longestWithRevision is the longest name of an object whose revisions are named in labels of its Pods. A dash and ten characters follow
// the name.
const longestWithRevision = validation.LabelValueMaxLength - len("-0123456789")

// warnLongName returns a warning about a new object without Pods: a label of them would be too long.
func warnLongName(name, remedy string) []string {
	if len(name) <= longestWithRevision {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: has %d characters; with more than %d, no Pod can be created, because the names of "+
		"revisions are labels of Pods; %s", len(name), longestWithRevision, remedy)}
}

// WarnCloneSet returns warnings about a CloneSet. old is nil on create.
func WarnCloneSet(_ context.Context, set, old *apps.CloneSet) []string {
	if old != nil {
		return nil
	}
	return warnLongName(set.Name, "use a shorter name, or turn on the feature gate CloneSetShortHash of the manager")
}

// WarnStatefulSet returns warnings about a StatefulSet. old is nil on create.
func WarnStatefulSet(_ context.Context, set, old *apps.StatefulSet) []string {
	if old != nil {
		return nil
	}
	return warnLongName(set.Name, "use a shorter name")
}
