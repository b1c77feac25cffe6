//go:build integration

package integration

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/test/openkruise"
)

// client returns the client of an object that OpenKruise installs.
func (o *old) client(object *unstructured.Unstructured) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	return o.clients.Resource(resource).Namespace(object.GetNamespace())
}

// openKruise installs a version of OpenKruise, and lets its manager answer as long as it has Pods.
func (o *old) openKruise(t *testing.T) {
	t.Helper()
	o.label(t, o.generation.Label)
	var err error
	o.installed, err = o.generation.Objects(ownNamespace, "none")
	require.NoError(t, err)
	for _, object := range o.installed {
		created := object.DeepCopy()
		if object.GetKind() == "Service" {
			// Nothing runs in Pods here, so the endpoints are written by this process.
			unstructured.RemoveNestedField(created.Object, "spec", "selector")
		}
		_, err := o.client(created).Create(t.Context(), created, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) && object.GetKind() == "ServiceAccount" {
			continue // The shared installation has an account of this name.
		}
		if apierrors.IsAlreadyExists(err) {
			// Another test has installed an object of our chart under this name.
			require.NoError(t, o.client(created).Delete(t.Context(), created.GetName(), metav1.DeleteOptions{}))
			_, err = o.client(created).Create(t.Context(), created, metav1.CreateOptions{})
		}
		require.NoError(t, err, "%s %s", object.GetKind(), object.GetName())
	}
	m := &managed{old: o, t: t}
	done := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() { defer close(done); m.run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-done
		o.label(t, "")
	})
	o.isAnswered(t)
}

// label sets the label of the namespace, or removes it.
func (o *old) label(t *testing.T, value string) {
	t.Helper()
	patch := `{"metadata":{"labels":{"control-plane":null,"pod-security.kubernetes.io/enforce":null}}}`
	if value != "" {
		patch = fmt.Sprintf(`{"metadata":{"labels":{"control-plane":%q}}}`, value)
	}
	_, err := env.kube.CoreV1().Namespaces().Patch(context.WithoutCancel(t.Context()), ownNamespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}

// isAnswered waits until OpenKruise's manager sees new Pods.
func (o *old) isAnswered(t *testing.T) {
	t.Helper()
	var problem error
	defer func() {
		if problem != nil {
			out, _ := kubectl(t, "", "describe", "replicasets,pods,services", "--namespace", ownNamespace)
			t.Logf("the manager does not answer: %v\n%s", problem, out)
		}
	}()
	eventually(t, func() bool {
		problem = openkruise.Answers(t.Context(), env.kube, o.namespace)
		return problem == nil
	})
}

// loseNode binds a Pod of the manager to a node that does not report. The Pod does not end when it is deleted.
func (o *old) loseNode(t *testing.T) string {
	t.Helper()
	node, err := env.kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "lost-"},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	pods := env.kube.CoreV1().Pods(ownNamespace)
	var name string
	eventually(t, func() bool {
		list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "control-plane=controller-manager"})
		if err != nil || len(list.Items) == 0 {
			return false
		}
		name = list.Items[0].Name
		return pods.Bind(t.Context(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Target: corev1.ObjectReference{Kind: "Node", Name: node.Name},
		}, metav1.CreateOptions{}) == nil
	})
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		_ = env.kube.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{})
	})
	return name
}

// managed lets the manager answer while its Deployment has a Pod, a second after the Pod was created. The Pod itself stays pending.
type managed struct {
	*old

	t       *testing.T
	running context.Context
	stop    context.CancelFunc
	done    chan struct{}
}

func (m *managed) run(ctx context.Context) {
	var since time.Time
	defer m.end(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		pods, err := env.kube.CoreV1().Pods(ownNamespace).List(ctx, metav1.ListOptions{LabelSelector: "control-plane=controller-manager"})
		switch {
		case err != nil:
		case len(pods.Items) == 0:
			since = time.Time{}
			m.end(ctx)
		case m.stop != nil && m.running.Err() != nil: // It failed. The kubelet starts it again.
			m.end(ctx)
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > time.Second && m.stop == nil:
			m.begin(ctx)
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// begin starts the manager, and publishes its endpoint when it is ready.
func (m *managed) begin(ctx context.Context) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(env.hostIP, "0"))
	if err != nil {
		return
	}
	m.running, m.stop = context.WithCancel(ctx)
	running, stop := m.running, m.stop
	m.done = make(chan struct{})
	manager := &openkruise.Manager{Client: m.clients, Namespace: ownNamespace, Listener: listener}
	var both sync.WaitGroup
	both.Go(func() {
		defer stop()
		if err := manager.Run(running); err != nil {
			m.t.Log("the manager ended:", err)
		}
	})
	both.Go(func() {
		_ = wait.PollUntilContextCancel(running, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			return manager.Ready() && publishManager(ctx, listener.Addr().(*net.TCPAddr).Port) == nil, nil
		})
	})
	go func() { both.Wait(); close(m.done) }()
}

// end withdraws the endpoint and stops the manager.
func (m *managed) end(ctx context.Context) {
	if m.stop == nil {
		return
	}
	m.stop()
	<-m.done
	m.stop = nil
	_ = env.kube.DiscoveryV1().EndpointSlices(ownNamespace).Delete(ctx, openkruise.Service, metav1.DeleteOptions{})
	_ = env.kube.CoreV1().Endpoints(ownNamespace).Delete(ctx, openkruise.Service, metav1.DeleteOptions{})
}

func publishManager(ctx context.Context, port int) error {
	_, err := env.kube.DiscoveryV1().EndpointSlices(ownNamespace).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: openkruise.Service, Labels: map[string]string{discoveryv1.LabelServiceName: openkruise.Service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{env.hostIP}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(port)), Protocol: new(corev1.ProtocolTCP)}},
	}, metav1.CreateOptions{})
	if existsOr(err) != nil {
		return err
	}
	_, err = env.kube.CoreV1().Endpoints(ownNamespace).Create(ctx, &corev1.Endpoints{ //nolint:staticcheck // Old versions read nothing else.
		ObjectMeta: metav1.ObjectMeta{Name: openkruise.Service, Labels: map[string]string{discoveryv1.LabelSkipMirror: "true"}},
		Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // See above.
			Addresses: []corev1.EndpointAddress{{IP: env.hostIP}}, Ports: []corev1.EndpointPort{{Port: int32(port), Protocol: corev1.ProtocolTCP}},
		}},
	}, metav1.CreateOptions{})
	return existsOr(err)
}

// rights returns what the accounts and an editor may do.
func (o *old) rights(t *testing.T) map[string][]string {
	t.Helper()
	all, err := openkruise.Rights(t.Context(), env.config, ownNamespace, ownNamespace, pub.DaemonConfigNamespace, o.namespace)
	require.NoError(t, err)
	return all
}

// service creates a Service whose owner is an object.
func (o *old) service(t *testing.T, owner *unstructured.Unstructured) string {
	t.Helper()
	created, err := env.kube.CoreV1().Services(o.namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return created.Name
}

func (o *old) owner(t *testing.T, service string) types.UID {
	t.Helper()
	found, err := env.kube.CoreV1().Services(o.namespace).Get(t.Context(), service, metav1.GetOptions{})
	require.NoError(t, err)
	return found.OwnerReferences[0].UID
}

// TestOpenKruiseIsAsItWasAfterTheReturn takes over from each version of OpenKruise, and returns, interrupted at each step. Meanwhile the chart
// of this release overwrites the labels of the namespace. No write of a Pod in the cluster is refused. In between, accounts and editors have
// no more rights than without OpenKruise. At the end, the manager answers its webhooks, which have their failure policies.
// Not parallel: it replaces the API of the shared server.
func TestOpenKruiseIsAsItWasAfterTheReturn(t *testing.T) {
	for i, generation := range openkruise.Generations() {
		t.Run(generation.Version, func(t *testing.T) {
			o := newOld(t, generation)
			require.NoError(t, openkruise.BindEditor(t.Context(), env.kube, o.namespace))
			rights := o.rights(t)
			o.start(t, fmt.Sprint("openkruise-", i))
			o.openKruise(t)
			command := o.takeover(t)
			crowd := openkruise.NewCrowd(t.Context(), env.kube, newNamespace(t))
			t.Cleanup(crowd.Stop)

			interruptedEverywhere(t, command, command.Forward)
			eventually(t, func() bool { return assert.ObjectsAreEqual(rights, o.rights(t)) })
			require.Error(t, openkruise.Answers(t.Context(), env.kube, o.namespace), "its webhooks are gone")
			o.label(t, "controller-manager")
			interruptedEverywhere(t, command, command.Back)

			o.isAnswered(t)
			crowd.Stop()
			t.Logf("%d writes of Pods", crowd.Writes)
			assert.Empty(t, crowd.Refused)
			assert.Greater(t, crowd.Writes, 100)
			namespace, err := env.kube.CoreV1().Namespaces().Get(t.Context(), ownNamespace, metav1.GetOptions{})
			require.NoError(t, err)
			assert.Equal(t, generation.Label, namespace.Labels["control-plane"])
			for _, object := range o.installed {
				now, err := o.client(object).Get(t.Context(), object.GetName(), metav1.GetOptions{})
				require.NoError(t, err, "%s %s", object.GetKind(), object.GetName())
				assert.Equal(t, object.Object["rules"], now.Object["rules"], object.GetName())
				webhooks, _, _ := unstructured.NestedSlice(now.Object, "webhooks")
				for _, webhook := range webhooks {
					assert.Equal(t, "Fail", webhook.(map[string]any)["failurePolicy"], object.GetName())
				}
			}
			for _, k := range o.kinds {
				for _, version := range storedBefore(k) {
					now, err := o.of(k, version).Get(t.Context(), "owner", metav1.GetOptions{})
					require.NoError(t, err, "%s in %s", k.gvk.Kind, version)
					assert.Equal(t, o.owners[k.gvk.Kind].GetUID(), now.GetUID(), k.gvk.Kind)
				}
			}
		})
	}
}
