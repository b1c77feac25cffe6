package takeover

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// backSteps are the steps of a return. Our manager stops before the store closes, so it sees no errors that it would
// act on. The objects are written while no API serves them: the store is closed, and the definitions are open only
// after it. The webhooks of the old manager refuse nothing until it answers them.
func (t *Takeover) backSteps() []step {
	return []step{
		{"stop", "stop the manager", t.stopOurs},
		{"suspend", "close the store, so that nothing changes", t.suspend},
		{"return", "write what has changed since the take-over into the old objects", t.returnChanges},
		{"reopen", "serve the old objects again", t.openDefinitions},
		{"handback", "let kube-apiserver serve the API from the CustomResourceDefinitions", t.handBack},
		{"clear", "remove our webhooks, policies, manager and node agents", t.clear},
		{"start", "start the old manager and node agents, with their permissions", t.startOld},
		{"arm", "let the webhooks of the old manager refuse requests again, once it answers", t.arm},
		{"release", "let another take-over replace the objects of the store", t.releaseStore},
		{forget, "delete the record", t.deleteRecord},
	}
}

// suspend closes the store. The process of the server ends then, and its container starts again. From then on the API
// answers 503. The server itself writes the state that the function waits for. Other servers notice at their next probe. If the take-over
// has closed no definition yet, there is nothing to suspend.
func (t *Takeover) suspend(ctx context.Context, _ *record) error {
	if closed, err := t.anyClosed(ctx); err != nil || !closed {
		return err
	}
	if _, err := t.Store.Run(ctx, nil, "close"); err != nil {
		return err
	}
	// Without these waits, the export could be of a store that still changes.
	err := t.until(ctx, "kruise-apiserver to close its store", func() (bool, error) {
		object, err := t.Dynamic.Resource(configMapResource).Namespace(t.Namespace).Get(ctx, t.StoreConfigMap, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		state, _, _ := unstructured.NestedString(object.Object, "data", "state")
		return strings.HasPrefix(state, "closed: "), nil
	})
	if err != nil {
		return err
	}
	return t.pause(ctx, t.settle)
}

// anyClosed reports whether the take-over has closed a definition. Before that, kruise-apiserver has served no object.
func (t *Takeover) anyClosed(ctx context.Context) (bool, error) {
	all, err := t.definitions(ctx)
	if err != nil {
		return false, err
	}
	for i := range all {
		if before, err := all[i].closed(); err != nil || before != nil {
			return true, err
		}
	}
	return false, nil
}

// releaseStore gives up the objects of the closed store: the old API has them all.
func (t *Takeover) releaseStore(ctx context.Context, _ *record) error {
	_, err := t.Store.Run(ctx, nil, "begin-import", "--replace-closed")
	return err
}

// openDefinitions lets the definitions serve their old versions again. Requests still go to kruise-apiserver until
// handBack.
func (t *Takeover) openDefinitions(ctx context.Context, _ *record) error {
	return t.change(ctx, (*definition).open)
}
