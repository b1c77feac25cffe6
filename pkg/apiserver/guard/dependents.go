package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/metadata"
)

// pageSize is how many objects one list request reads. Only metadata is read, so a page is small.
const pageSize = 500

// dependentKinds lists the kinds that the garbage collector would delete. ControllerRevisions come first, because
// there are fewer of them than Pods.
var dependentKinds = []struct {
	resource schema.GroupVersionResource
	kind     string
}{
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}, "ControllerRevision"},
	{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod"},
}

// search is the last search for dependents. Its zero value has not searched yet.
type search struct {
	dependent string
	err       error
	// again is when the result expires, and pause the time that a failure is kept. The pause doubles with each failure.
	again time.Time
	pause time.Duration
}

// find returns what findDependent finds. It keeps a result for a minute and a failure for up to a minute, because start
// is repeated every second and a search loads kube-apiserver. An empty result is not kept: the caller opens the store
// with it.
func (s *search) find(ctx context.Context, client metadata.Interface, groups sets.Set[string]) (string, error) {
	if time.Now().Before(s.again) {
		return s.dependent, s.err
	}
	ctx, cancel := context.WithTimeout(ctx, dependentsTimeout)
	defer cancel()
	s.dependent, s.err = findDependent(ctx, client, groups)
	switch {
	case s.err != nil:
		s.pause = min(max(2*s.pause, probePeriod), dependentsPeriod)
		s.again = time.Now().Add(s.pause)
	case s.dependent != "":
		s.pause, s.again = 0, time.Now().Add(dependentsPeriod)
	default:
		*s = search{}
	}
	return s.dependent, s.err
}

// findDependent returns the name of an object whose owner is in one of the groups, or an empty string. It reads only
// metadata, page by page, and stops at the first one. In a cluster without Kruise objects it reads all pages of both
// kinds, which happens once, at the first start. In a large cluster the token of the next page expires during that time.
// The search then continues with the token that the error contains. It does not find what was created in the meantime, but
// while the store is closed, nothing creates dependents.
func findDependent(ctx context.Context, client metadata.Interface, groups sets.Set[string]) (string, error) {
	for _, dependent := range dependentKinds {
		options := metav1.ListOptions{Limit: pageSize}
		for {
			page, err := client.Resource(dependent.resource).List(ctx, options)
			if next := expired(err); next != "" && next != options.Continue {
				options.Continue = next
				continue
			}
			if err != nil {
				return "", fmt.Errorf("list %s: %w", dependent.resource.Resource, err)
			}
			for i := range page.Items {
				if ownedBy(&page.Items[i], groups) {
					return dependent.kind + " " + page.Items[i].Namespace + "/" + page.Items[i].Name, nil
				}
			}
			if page.Continue == "" {
				break
			}
			options.Continue = page.Continue
		}
	}
	return "", nil
}

// expired returns the token with which a list can continue after its own token has expired, or an empty string.
func expired(err error) string {
	var status apierrors.APIStatus
	if apierrors.IsResourceExpired(err) && errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}

// ownedBy returns true if an owner is in one of the groups. It ignores terminating objects, because they do not show
// that their owner should exist.
func ownedBy(object metav1.Object, groups sets.Set[string]) bool {
	if object.GetDeletionTimestamp() != nil {
		return false
	}
	for _, owner := range object.GetOwnerReferences() {
		if groups.Has(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group) {
			return true
		}
	}
	return false
}
