package takeover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
)

// Groups are the API groups of Kruise.
var Groups = []string{"apps.kruise.io", "policy.kruise.io"}

// Store runs `kruise-apiserver store` with arguments where the store is, and returns what it prints. input is its
// standard input and may be nil. The output can be complete even if there is an error.
type Store interface {
	Run(ctx context.Context, input io.Reader, args ...string) ([]byte, error)
}

// Takeover moves one cluster.
type Takeover struct {
	// Dynamic and Discovery are clients of kube-apiserver, which forwards requests for Kruise according to the APIServices.
	Dynamic   dynamic.Interface
	Discovery discovery.ServerResourcesInterface
	// Metadata reads and writes owner references of objects of any kind.
	Metadata metadata.Interface
	// Namespace is where Kruise is installed. Service is the Service of kruise-apiserver in it. StoreConfigMap is the ConfigMap by
	// which kruise-apiserver recognizes its store.
	Namespace, Service, StoreConfigMap string
	// Store is where the objects go.
	Store Store
	// AcceptLoss takes over even if objects have values that this release does not keep.
	AcceptLoss bool
	// GitOpsSuspended takes over even if Argo CD or Flux manages OpenKruise.
	GitOpsSuspended bool
	// Out receives the progress.
	Out io.Writer
	// Clock measures all waits. Tests set another one.
	Clock clock.Clock

	// Interrupt, if set, is called after each step, before and after it is recorded. If it returns an error, the take-over ends.
	Interrupt func(step string, recorded bool) error

	// settle is how long requests to the old API may still be in progress after it was closed.
	settle time.Duration
}

// forget is the step that deletes the record. It is not recorded itself.
const forget = "forget"

// patience limits each wait for the cluster. After it, the command ends with an error, and can be run again.
const patience = 5 * time.Minute

// New returns a take-over with the names of the chart. The caller may change them before the first step.
func New(
	client dynamic.Interface, objects metadata.Interface, discoverer discovery.ServerResourcesInterface, store Store, out io.Writer,
) *Takeover {
	return &Takeover{
		Dynamic: client, Metadata: objects, Discovery: discoverer, Store: store, Out: out, Clock: clock.RealClock{}, settle: 3 * time.Second,
		Namespace: "kruise-system", Service: "kruise-apiserver", StoreConfigMap: "kruise-store",
	}
}

// step is a part of a take-over. do may be repeated, and may have been interrupted before. name is stored in the
// record; does is printed.
type step struct {
	name string
	does string
	do   func(context.Context, *record) error
}

// errFinished is the error of every command after the CustomResourceDefinitions were deleted.
var errFinished = errors.New("the take-over is finished: the CustomResourceDefinitions are gone, so there is no way back")

// Check checks everything that the take-over needs, and changes nothing. It can be run at any time.
func (t *Takeover) Check(ctx context.Context) error {
	state, err := t.readRecord(ctx)
	if err != nil {
		return err
	}
	return t.check(ctx, state)
}

// Forward takes over. After an interruption, it continues behind the last complete step. It refuses to begin while a
// return, or the deletion of the CustomResourceDefinitions, is in progress.
func (t *Takeover) Forward(ctx context.Context) error {
	state, err := t.readRecord(ctx)
	if err != nil {
		return err
	}
	switch state.Direction {
	case backward:
		return errors.New("a return to the CustomResourceDefinitions is in progress: complete it first")
	case finishing:
		return errors.New(`the take-over is complete, and the CustomResourceDefinitions are being deleted: run "kubectl kruise takeover finish"`)
	}
	// After the first step, some checks would fail: the manager is gone, and the store has objects.
	if state.Direction == "" {
		if err := t.check(ctx, state); err != nil {
			return err
		}
	}
	return t.run(ctx, state, forward, t.forwardSteps())
}

// Back returns to the CustomResourceDefinitions, with the changes since the take-over. It may also be called during a
// take-over, which it then undoes. After an interruption, it continues.
func (t *Takeover) Back(ctx context.Context) error {
	state, err := t.readRecord(ctx)
	switch {
	case err != nil:
		return err
	case state.Direction == "":
		return t.returned(ctx)
	case state.Direction == finishing:
		return errFinished
	}
	return t.run(ctx, state, backward, t.backSteps())
}

// Finish deletes the CustomResourceDefinitions. There is no way back after it. It refuses unless the take-over is
// complete. After an interruption, it continues.
func (t *Takeover) Finish(ctx context.Context) error {
	state, err := t.readRecord(ctx)
	if err != nil {
		return err
	}
	if state.Direction == "" {
		return t.finished(ctx)
	}
	steps := t.forwardSteps()
	// A record without a direction was handled above: either nothing was taken over, or everything is finished.
	if complete := state.Direction == forward && state.Step == steps[len(steps)-1].name; !complete && state.Direction != finishing {
		return errors.New("the take-over is not complete: complete it first")
	}
	return t.run(ctx, state, finishing, t.finishSteps())
}

// returned says that a return was complete before, or that there is nothing to return from. It is an error if the
// definitions show a take-over whose record is gone.
func (t *Takeover) returned(ctx context.Context) error {
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("nothing was taken over: there is nothing to return from")
	}
	for _, d := range all {
		if before, err := d.closed(); err != nil || before != nil {
			return errors.Join(err, fmt.Errorf("CustomResourceDefinition %s is closed, but ConfigMap %s/%s is gone",
				d.name(), t.Namespace, RecordName))
		}
	}
	t.say("kube-apiserver serves the API from the CustomResourceDefinitions: nothing is left to do")
	return nil
}

// finished says that a take-over was finished before, or that there was none.
func (t *Takeover) finished(ctx context.Context) error {
	all, err := t.definitions(ctx)
	if err != nil {
		return err
	}
	service, err := t.Dynamic.Resource(apiServiceResource).Get(ctx, versions[0]+"."+Groups[0], metav1.GetOptions{})
	if err != nil || len(all) > 0 || !isOurs(service) {
		return errors.New("the take-over is not complete: complete it first")
	}
	t.say("the CustomResourceDefinitions are gone, and kruise-apiserver serves the API: nothing is left to do")
	return nil
}

// run executes the steps after the last one that is complete, and records each. A crash between a step and its record
// repeats the step. A new direction begins with its first step.
func (t *Takeover) run(ctx context.Context, state *record, direction string, steps []step) error {
	if state.Direction != direction {
		state.Direction, state.Step = direction, ""
		if err := t.writeRecord(ctx, state); err != nil {
			return err
		}
	}
	// A step that is not in this list, such as one of another direction, means the beginning.
	begin := 0
	for i, each := range steps {
		if each.name == state.Step {
			begin = i + 1
		}
	}
	// The record is written after the step, so a step must be harmless when it is repeated.
	for i, each := range steps[begin:] {
		t.say("[%d/%d] %s", begin+i+1, len(steps), each.does)
		if err := each.do(ctx, state); err != nil {
			return fmt.Errorf("%s: %w; run the same command again to continue", each.name, err)
		}
		if err := t.interrupted(each.name, false); err != nil {
			return err
		}
		if state.Step = each.name; each.name != forget {
			if err := t.writeRecord(ctx, state); err != nil {
				return err
			}
		}
		if err := t.interrupted(each.name, true); err != nil {
			return err
		}
	}
	return nil
}

// interrupted calls Interrupt, by which tests end the program at any point.
func (t *Takeover) interrupted(step string, recorded bool) error {
	if t.Interrupt == nil {
		return nil
	}
	return t.Interrupt(step, recorded)
}

// say prints a line of the progress.
func (t *Takeover) say(format string, args ...any) {
	_, _ = fmt.Fprintf(t.Out, format+"\n", args...) // The record has the progress too.
}

// until waits until the function returns true. The last problem is in the error. An error of the function does not
// end the wait, because the cluster may only be slow or restarting.
func (t *Takeover) until(ctx context.Context, what string, happened func() (bool, error)) error {
	deadline := t.Clock.Now().Add(patience)
	var last error
	for t.Clock.Now().Before(deadline) {
		var ok bool
		if ok, last = happened(); ok {
			return nil
		}
		if err := t.pause(ctx, 200*time.Millisecond); err != nil {
			return errors.Join(err, last)
		}
	}
	if last != nil {
		return fmt.Errorf("waited %s for %s: %w", patience, what, last)
	}
	return fmt.Errorf("waited %s for %s", patience, what)
}

// pause waits for a time, or returns the error of ctx.
func (t *Takeover) pause(ctx context.Context, length time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.Clock.After(length):
		return nil
	}
}

var (
	crdResource = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
	apiServiceResource         = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	deploymentResource         = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	daemonSetResource          = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}
	podResource                = core("pods")
	nodeResource               = core("nodes")
	configMapResource          = core("configmaps")
	secretResource             = core("secrets")
	serviceResource            = core("services")
	serviceAccountResource     = core("serviceaccounts")
	namespaceResource          = core("namespaces")
	roleResource               = rbac("roles")
	roleBindingResource        = rbac("rolebindings")
	clusterRoleResource        = rbac("clusterroles")
	clusterRoleBindingResource = rbac("clusterrolebindings")
	endpointSliceResource      = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
	leaseResource              = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	policyBindingResource      = admission("validatingadmissionpolicybindings")
	webhookResources           = []schema.GroupVersionResource{
		admission("mutatingwebhookconfigurations"), admission("validatingwebhookconfigurations"),
	}
)

func core(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

func rbac(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}
}

func admission(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
}
