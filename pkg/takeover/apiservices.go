package takeover

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
)

const (
	// automanaged is the label of an APIService that kube-apiserver sets according to CustomResourceDefinitions. Without it,
	// kube-apiserver neither changes nor deletes the APIService.
	automanaged = "kube-aggregator.kubernetes.io/automanaged"
	// priority is the version priority of our APIServices. It must be higher than that of the take-over version, which has 100, because
	// clients such as the garbage collector prefer the version with the highest one.
	priority = 200
	// reviewService is the APIService of the reviews. It exists before the take-over, and the server has published its CA there.
	reviewService = "v1.admission.kruise.io"
)

// versions are the API versions that kruise-apiserver serves, the preferred one first.
var versions = []string{"v1beta1", "v1alpha1"}

// handOver makes kube-apiserver forward all versions to kruise-apiserver, which answers 503 until its store is
// complete. From here on, no client can write an object by its usual versions. The time is recorded first and once,
// so a repetition after an interruption does not shorten the interruption that is reported.
func (t *Takeover) handOver(ctx context.Context, state *record) error {
	if state.Closed == nil {
		state.Closed = new(t.Clock.Now())
		if err := t.writeRecord(ctx, state); err != nil {
			return err
		}
	}
	// The APIServices need the CA before they point to the server; otherwise kube-apiserver would refuse its
	// certificate until the server has published the CA there.
	reviews, err := t.Dynamic.Resource(apiServiceResource).Get(ctx, reviewService, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the CA of kruise-apiserver from APIService %s: %w", reviewService, err)
	}
	authority, _, _ := unstructured.NestedString(reviews.Object, "spec", "caBundle")
	for _, group := range Groups {
		// The preferred version has the highest rank. Each rank is above that of the take-over version.
		for i, version := range versions {
			if err := t.pointToUs(ctx, group, version, int64(priority+10*(len(versions)-i)), authority); err != nil {
				return err
			}
		}
	}
	return nil
}

// pointToUs changes one APIService so that it forwards to kruise-apiserver. It removes the label automanaged in the
// same write, because kube-apiserver would undo a change of the spec alone. rank is the version priority.
func (t *Takeover) pointToUs(ctx context.Context, group, version string, rank int64, authority string) error {
	name := version + "." + group
	spec := map[string]any{
		"group": group, "version": version, "groupPriorityMinimum": int64(1000), "versionPriority": rank,
		"service": map[string]any{"namespace": t.Namespace, "name": t.Service, "port": int64(443)},
	}
	if authority != "" { // Without it, kube-apiserver uses the CAs of its machine.
		spec["caBundle"] = authority
	}
	client := t.Dynamic.Resource(apiServiceResource)
	current, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": name}, "spec": spec,
		}}, metav1.CreateOptions{})
	} else if err == nil && !isOurs(current) {
		// It is one of kube-apiserver, so it is changed in place: a deletion would leave a moment without the API.
		var patch []byte
		if patch, err = json.Marshal(map[string]any{
			"metadata": map[string]any{"labels": map[string]any{automanaged: nil}}, "spec": spec,
		}); err == nil {
			_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		}
	}
	if err != nil {
		return fmt.Errorf("point APIService %s to kruise-apiserver: %w", name, err)
	}
	return nil
}

// isOurs returns true if the APIService forwards to a server and kube-apiserver does not manage it.
func isOurs(object *unstructured.Unstructured) bool {
	service, found, _ := unstructured.NestedMap(object.Object, "spec", "service")
	return found && service != nil && object.GetLabels()[automanaged] == ""
}

// handBack deletes the APIServices, and kube-apiserver creates those of the CustomResourceDefinitions again. Requests reach the definitions
// also while an APIService is missing. An APIService that is changed instead stays in the aggregated discovery of kube-apiserver with the
// resources of kruise-apiserver, which is away, so kubectl does not find any.
func (t *Takeover) handBack(ctx context.Context, _ *record) error {
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	for _, group := range Groups {
		for _, version := range versions {
			if err := t.giveBack(ctx, schema.GroupVersion{Group: group, Version: version}, isOurs); err != nil {
				return err
			}
		}
	}
	// deleted is when the APIServices were deleted for the last time.
	deleted := t.Clock.Now()
	// A List through kube-apiserver proves that requests reach the definitions; the discovery proves that clients
	// find them.
	return t.until(ctx, "kube-apiserver to serve the old API", func() (bool, error) {
		// The discovery is looked at only when the API answers.
		if ok, err := t.servesOld(ctx, all); !ok {
			return false, err
		}
		missing, err := t.undiscovered(all)
		if err != nil || len(missing) == 0 {
			return err == nil, err
		}
		// kube-apiserver may see a deletion and the creation that follows as one change.
		if t.Clock.Since(deleted) > discoveryPeriod {
			deleted = t.Clock.Now()
			for _, version := range missing {
				if err := t.giveBack(ctx, version, isLocal); err != nil {
					return false, err
				}
			}
		}
		return false, fmt.Errorf("its discovery does not list the resources of %v", missing)
	})
}

// discoveryPeriod is how long the discovery may take to list the resources of a new APIService.
const discoveryPeriod = 5 * time.Second

// giveBack deletes the APIService of a version if the function returns true for it. kube-apiserver creates it again.
// A conflict means that it was replaced already.
func (t *Takeover) giveBack(ctx context.Context, version schema.GroupVersion, applies func(*unstructured.Unstructured) bool) error {
	// The UID as a precondition keeps it from deleting the APIService that kube-apiserver has created in the
	// meantime.
	client, name := t.Dynamic.Resource(apiServiceResource), version.Version+"."+version.Group
	current, err := client.Get(ctx, name, metav1.GetOptions{})
	if err == nil && applies(current) {
		err = client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(current.GetUID())}})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("hand APIService %s back: %w", name, err)
	}
	return nil
}

// isLocal returns true if kube-apiserver serves the version itself.
func isLocal(object *unstructured.Unstructured) bool {
	_, forwards, _ := unstructured.NestedMap(object.Object, "spec", "service")
	return !forwards
}

// servesOld returns true if each definition answers in its stored version, through an APIService that is local.
func (t *Takeover) servesOld(ctx context.Context, all []definition) (bool, error) {
	for _, d := range all {
		service, err := t.Dynamic.Resource(apiServiceResource).Get(ctx, d.storage+"."+d.group, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if !isLocal(service) {
			return false, nil
		}
		if _, err := t.Dynamic.Resource(d.resource(d.storage)).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// undiscovered returns the versions with a served resource that the aggregated discovery does not list. Clients such
// as kubectl find resources only there.
func (t *Takeover) undiscovered(all []definition) ([]schema.GroupVersion, error) {
	_, lists, err := t.Discovery.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // Other groups of the cluster may be away.
		return nil, err
	}
	listed := sets.New[schema.GroupVersionResource]()
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			listed.Insert(version.WithResource(resource.Name))
		}
	}
	var missing []schema.GroupVersion
	for _, d := range all {
		for _, name := range d.served() {
			if resource := d.resource(name); !listed.Has(resource) && !slices.Contains(missing, resource.GroupVersion()) {
				missing = append(missing, resource.GroupVersion())
			}
		}
	}
	return missing, nil
}
