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
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

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
		if apierrors.IsAlreadyExists(err) {
			continue // The shared installation has an account of this name.
		}
		require.NoError(t, err, "%s %s", object.GetKind(), object.GetName())
	}
	m := &managed{old: o}
	done := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() { defer close(done); m.run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-done
		o.label(t, "")
	})
	eventually(t, func() bool { return o.answered(t) })
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

// answered returns true if OpenKruise's manager has seen a new Pod.
func (o *old) answered(t *testing.T) bool {
	t.Helper()
	pod, err := env.kube.CoreV1().Pods(o.namespace).Create(t.Context(), crowdPod("seen-"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err == nil && pod.Annotations[openkruise.SeenAnnotation] == "true"
}

func crowdPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name},
		Spec:       corev1.PodSpec{NodeSelector: map[string]string{"none": "none"}, Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
}

// managed lets the manager answer while its Deployment has a Pod, a second after the Pod was created. The Pod itself stays pending.
type managed struct {
	*old

	stop context.CancelFunc
	done chan struct{}
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
	var running context.Context
	running, m.stop = context.WithCancel(ctx)
	m.done = make(chan struct{})
	manager := &openkruise.Manager{Client: m.clients, Namespace: ownNamespace, Listener: listener}
	var both sync.WaitGroup
	both.Go(func() { _ = manager.Run(running) })
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

// podWrites creates, changes, evicts and deletes Pods in a namespace until the test stops it, and returns what was refused.
type podWrites struct {
	count   int
	refused []string
	stop    func()
}

func writePods(t *testing.T, namespace string) *podWrites {
	t.Helper()
	w, done := &podWrites{}, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	pods := env.kube.CoreV1().Pods(namespace)
	note := func(what string, err error) {
		if w.count++; err != nil && ctx.Err() == nil {
			w.refused = append(w.refused, fmt.Sprintf("%s %s: %v", time.Now().Format("05.00"), what, err))
		}
	}
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			pod, err := pods.Create(ctx, crowdPod("crowd-"), metav1.CreateOptions{})
			if note("create", err); err != nil {
				continue
			}
			_, err = pods.Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
			note("patch", err)
			if i%2 == 0 {
				note("evict", pods.EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: namespace}}))
			} else {
				note("delete", pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}))
			}
		}
	}()
	w.stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(w.stop)
	return w
}

// rights returns what the accounts and an editor may do, as "kubectl auth can-i --list" prints it.
func (o *old) rights(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for user, namespaces := range map[string][]string{
		"system:serviceaccount:" + ownNamespace + ":kruise-manager": {ownNamespace, pub.DaemonConfigNamespace, o.namespace},
		"system:serviceaccount:" + ownNamespace + ":kruise-daemon":  {ownNamespace, pub.DaemonConfigNamespace, o.namespace},
		"editor": {o.namespace},
	} {
		config := rest.CopyConfig(env.config)
		config.Impersonate.UserName = user
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		for _, namespace := range namespaces {
			review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
				Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			for _, rule := range review.Status.ResourceRules {
				all[user+" in "+namespace] = append(all[user+" in "+namespace], rule.String())
			}
		}
	}
	return all
}

func (o *old) editor(t *testing.T) {
	t.Helper()
	_, err := env.kube.RbacV1().RoleBindings(o.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "editor"}, Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "editor"}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
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
			o.editor(t)
			rights := o.rights(t)
			o.openKruise(t)
			o.start(t, fmt.Sprint("openkruise-", i))
			command := o.takeover(t)
			w := writePods(t, newNamespace(t))

			interruptedEverywhere(t, command, command.Forward)
			eventually(t, func() bool { return assert.ObjectsAreEqual(rights, o.rights(t)) })
			assert.False(t, o.answered(t), "its webhooks are gone")
			o.label(t, "controller-manager")
			interruptedEverywhere(t, command, command.Back)

			eventually(t, func() bool { return o.answered(t) })
			w.stop()
			t.Logf("%d writes of Pods", w.count)
			assert.Empty(t, w.refused)
			assert.Greater(t, w.count, 100)
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
