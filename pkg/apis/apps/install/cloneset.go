package install

import (
	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/apps"
)

// AgreeOnCloneSet synchronizes settings that a CloneSet has both as a field and as a label or an annotation:
// if a write changes one of the two, the other follows. old is the stored object, nil on create. kubectl label
// and kubectl annotate write v1beta1, which has the fields too.
func AgreeOnCloneSet(cloneSet, old *apps.CloneSet) {
	if old == nil {
		old = &apps.CloneSet{}
	}
	annotation.Sync(apps.CloneSetSettings(), cloneSet, old)
}
