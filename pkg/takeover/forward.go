package takeover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// forwardSteps are the steps of a take-over. Most objects are copied while the old manager runs; the API is closed
// only from "switch" to "open". The webhooks go before the manager that answers them, so no step leaves a webhook that
// nobody answers. Until "switch", an interruption leaves the old API as it was, without its manager at most.
func (t *Takeover) forwardSteps() []step {
	return []step{
		{"keep", "keep the CustomResourceDefinitions when Helm upgrades", t.keepDefinitions},
		{"begin", "keep kruise-apiserver from opening its store", t.beginImport},
		{"copy", "copy the objects while the old manager runs", t.copyEarly},
		{"webhooks", "remove the webhooks of the old manager, while it answers them", t.removeWebhooks},
		{"retire", "remove the old manager, its node agents and their permissions", t.retire},
		{"switch", "forward the API to kruise-apiserver, which answers 503 for now", t.handOver},
		{"close", "serve the old objects no longer, and end their watches", t.closeDefinitions},
		{"import", "copy what has changed", t.importFinally},
		{"open", "open the store", t.openStore},
		{"compare", "compare all objects", t.compare},
		{"remains", "list what is left of OpenKruise", t.listRemains},
	}
}

// check refuses what the take-over could not complete. It changes nothing. It reports all problems of the
// definitions, the manager and the server together; the objects are read only without such problems.
func (t *Takeover) check(ctx context.Context, state *record) error {
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("the cluster has no CustomResourceDefinition of %s: there is nothing to take over", strings.Join(Groups, " and "))
	}
	var problems []error
	for _, d := range all {
		problems = append(problems, checkDefinition(&d))
	}
	problems = append(problems, t.checkManager(ctx), t.checkServer(ctx), t.checkNamespace(ctx, all), t.checkGitOps(ctx, all))
	if err := errors.Join(problems...); err != nil {
		return err
	}
	if state.Direction != "" {
		return nil // The objects are in the store, or on their way.
	}
	_, printed, err := t.importAll(ctx, all, "--dry-run")
	if printed != nil {
		t.show(printed)
	}
	if err != nil {
		return fmt.Errorf("check the objects: %w", err)
	}
	return nil
}

// beginImport closes the store. A server that has opened the empty store ends, so this is a step of its own. It fails
// if the store belongs to an installation that has objects.
func (t *Takeover) beginImport(ctx context.Context, _ *record) error {
	_, err := t.Store.Run(ctx, nil, "begin-import")
	return err
}

// copyEarly copies most objects, so that the interruption is short.
func (t *Takeover) copyEarly(ctx context.Context, _ *record) error {
	_, err := t.copy(ctx)
	return err
}

// copy imports all objects once, and returns the resource versions that it has read. The import leaves exactly these
// objects in the store.
func (t *Takeover) copy(ctx context.Context) (sent, error) {
	all, err := t.definitions(ctx)
	if err != nil {
		return nil, err
	}
	seen, printed, err := t.importAll(ctx, all)
	if err != nil {
		if printed != nil {
			t.show(printed)
		}
		return nil, err
	}
	if printed.Done == nil {
		return nil, errors.New("the import did not say what it did")
	}
	done := printed.Done
	t.say("  %d objects: %d written, %d as before, %d gone", printed.Objects, done.Written, done.Unchanged, done.Deleted)
	return seen, nil
}

// closeDefinitions waits until requests to the old versions have ended. First each definition must serve the
// take-over version, by which all later steps read.
func (t *Takeover) closeDefinitions(ctx context.Context, _ *record) error {
	if err := t.change(ctx, (*definition).close); err != nil {
		return err
	}
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		err := t.until(ctx, "the take-over version of "+d.name(), func() (bool, error) {
			_, err := t.Dynamic.Resource(d.resource(Version)).List(ctx, metav1.ListOptions{Limit: 1})
			return err == nil, err
		})
		if err != nil {
			return err
		}
	}
	return t.pause(ctx, t.settle)
}

// closeAgain closes definitions whose versions somebody has written back since closeDefinitions, such as a GitOps controller. Nobody can
// read the old objects otherwise: requests by the usual versions go to kruise-apiserver.
func (t *Takeover) closeAgain(ctx context.Context) error {
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if !slices.Contains(all[i].served(), Version) {
			t.say("  %s serves its objects by their versions; closing it", all[i].name())
			return t.closeDefinitions(ctx, nil)
		}
	}
	return nil
}

// importFinally copies until nothing has changed since, so that no write of a slow request is missed. It compares the
// resource versions that it has copied with those that are there after the copy.
func (t *Takeover) importFinally(ctx context.Context, _ *record) error {
	// A second look without a change means that no request to the old API is left.
	for range 10 {
		if err := t.closeAgain(ctx); err != nil {
			return err
		}
		copied, err := t.copy(ctx)
		if err != nil {
			return err
		}
		// The definitions are read again, because close has changed them.
		all, err := t.definitions(ctx)
		if err != nil {
			return err
		}
		now, err := t.send(ctx, all, io.Discard)
		if err != nil {
			return err
		}
		if maps.Equal(copied, now) {
			return nil
		}
	}
	return errors.New("the old objects still change: find out who writes them; a kube-apiserver may have lost its connection to etcd")
}

// openStore completes the store with the record that the guard expects, and waits until the API answers. The record
// is written before the store is completed, so a repetition uses the same identity.
func (t *Takeover) openStore(ctx context.Context, state *record) error {
	// A manager that somebody has started again would act on the objects.
	if err := t.retire(ctx, state); err != nil {
		return err
	}
	// The record must be the same in every repetition: the guard compares it with the ConfigMap.
	if state.Identity == "" {
		var err error
		if state.Identity, state.Generation, err = t.expected(ctx); err != nil {
			return err
		}
		if err := t.writeRecord(ctx, state); err != nil {
			return err
		}
	}
	system, err := t.Dynamic.Resource(namespaceResource).Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the UID of the cluster: %w", err)
	}
	_, err = t.Store.Run(ctx, nil, "complete-import", "--identity="+state.Identity, fmt.Sprintf("--generation=%d", state.Generation),
		"--cluster="+string(system.GetUID()))
	if err != nil {
		return err
	}
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		err := t.until(ctx, "kruise-apiserver to serve "+d.name(), func() (bool, error) {
			_, err := t.Dynamic.Resource(d.resource(d.storage)).List(ctx, metav1.ListOptions{Limit: 1})
			return err == nil, err
		})
		if err != nil {
			return err
		}
	}
	// This is the interruption that clients have seen.
	if state.Closed != nil {
		t.say("  the API was closed for %s", t.Clock.Since(*state.Closed).Round(100*time.Millisecond))
	}
	return nil
}

// expected returns the identity and generation by which the guard recognizes the store. If the cluster knows a store
// from an earlier take-over, the new one continues it with a higher generation. Otherwise the identity is new.
func (t *Takeover) expected(ctx context.Context) (string, int64, error) {
	object, err := t.Dynamic.Resource(configMapResource).Namespace(t.Namespace).Get(ctx, t.StoreConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return string(uuid.NewUUID()), 1, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("read ConfigMap %s/%s: %w", t.Namespace, t.StoreConfigMap, err)
	}
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	if data["identity"] == "" {
		return string(uuid.NewUUID()), 1, nil
	}
	var generation int64
	// A generation that cannot be read must not become 1: the guard would see a store that was rolled back.
	if _, err := fmt.Sscan(data["generation"], &generation); err != nil {
		return "", 0, fmt.Errorf("ConfigMap %s/%s: generation %q: %w", t.Namespace, t.StoreConfigMap, data["generation"], err)
	}
	return data["identity"], generation + 1, nil
}

// compare compares the identity of all objects in the take-over version with those that kruise-apiserver serves.
// Objects that clients created since are not looked at.
func (t *Takeover) compare(ctx context.Context, _ *record) error {
	if err := t.closeAgain(ctx); err != nil {
		return err
	}
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	var problems []error
	same, gone := 0, 0
	for _, d := range all {
		// The old objects are read first. An object that is created meanwhile is only in the new API, and is not
		// compared.
		old, err := t.identities(ctx, d, Version)
		if err != nil {
			return err
		}
		now, err := t.identities(ctx, d, d.storage)
		if err != nil {
			return err
		}
		for key, identity := range old {
			switch found, exists := now[key]; {
			case !exists: // The import had it, so a client has deleted it since the API is open.
				gone++
			case found != identity:
				problems = append(problems, fmt.Errorf("%s was %v and is %v", key, identity, found))
			default:
				same++
			}
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("objects differ: return to the old API, and report this: %w", errors.Join(problems...))
	}
	t.say("  %d objects kept their UIDs, %d were deleted in the meantime", same, gone)
	return nil
}

// identity is what dependents know of an object.
type identity struct {
	uid     string
	created string
}

// identities reads the identity of all objects of a kind in one version.
func (t *Takeover) identities(ctx context.Context, d definition, version string) (map[key]identity, error) {
	found := map[key]identity{}
	err := t.each(ctx, d.resource(version), func(object *unstructured.Unstructured) error {
		found[keyOf(d, object)] = identity{string(object.GetUID()), object.GetCreationTimestamp().UTC().String()}
		return nil
	})
	return found, err
}
