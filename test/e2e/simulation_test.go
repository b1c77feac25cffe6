//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

// answerDelay is the maximum time until a simulated node answers.
const answerDelay = 500 * time.Millisecond

// simulation holds NodeImages without an agent. They have the label e2e with the test's namespace.
type simulation struct {
	*env
	size   int
	client typed.NodeImageInterface
}

// simulate creates NodeImages without nodes. They are deleted when the test ends.
func (e *env) simulate(size int) *simulation {
	e.t.Helper()
	s := &simulation{env: e, size: size, client: e.kruise.AppsV1beta1().NodeImages()}
	s.each(func(name string) error {
		_, err := s.client.Create(e.t.Context(), &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{pub.FakeNodeImageKey: "", "e2e": e.namespace},
		}}, metav1.CreateOptions{})
		return err
	})
	e.t.Cleanup(func() {
		_ = s.client.DeleteCollection(context.WithoutCancel(e.t.Context()), metav1.DeleteOptions{}, s.selected())
	})
	return s
}

// simulateNodes creates nodes, and waits until each has its NodeImage. KWOK keeps the nodes ready. They are deleted when the
// test ends.
func (e *env) simulateNodes(size int) *simulation {
	e.t.Helper()
	s := &simulation{env: e, size: size, client: e.kruise.AppsV1beta1().NodeImages()}
	nodes := e.core.CoreV1().Nodes()
	kwok, err := nodes.List(e.t.Context(), metav1.ListOptions{LabelSelector: "type=kwok,!e2e"})
	require.NoError(e.t, err)
	require.NotEmpty(e.t, kwok.Items, "KWOK does not run: start the cluster with KWOK_NODES=1 or more, as hack/test-e2e.sh does")
	e.t.Cleanup(func() {
		_ = nodes.DeleteCollection(context.WithoutCancel(e.t.Context()), metav1.DeleteOptions{}, s.selected())
	})
	s.each(s.createNode)
	e.eventually("each simulated node has its NodeImage", func(c *require.Assertions, ctx context.Context) {
		c.Len(s.list(ctx), size)
	})
	return s
}

// createNode creates a node that KWOK keeps ready.
func (s *simulation) createNode(name string) error {
	_, err := s.core.CoreV1().Nodes().Create(s.t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}, Labels: map[string]string{"type": "kwok", "e2e": s.namespace},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "kwok.x-k8s.io/node", Value: "fake", Effect: corev1.TaintEffectNoSchedule}}},
	}, metav1.CreateOptions{})
	return err
}

// each calls do for the name of each NodeImage, twenty at once.
func (s *simulation) each(do func(name string) error) {
	s.t.Helper()
	var group sync.WaitGroup
	failures := make([]error, s.size)
	for first := range 20 {
		group.Go(func() {
			for i := first; i < s.size; i += 20 {
				failures[i] = do(s.name(i))
			}
		})
	}
	group.Wait()
	for _, err := range failures {
		require.NoError(s.t, err)
	}
}

func (s *simulation) name(i int) string { return fmt.Sprintf("%s-%04d", s.namespace, i) }

func (s *simulation) selected() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: "e2e=" + s.namespace}
}

func (s *simulation) list(ctx context.Context) []v1beta1.NodeImage {
	list, err := s.client.List(ctx, s.selected())
	require.NoError(s.t, err)
	return list.Items
}

// watch follows every version of every NodeImage from now on, in the order of the writes.
func (s *simulation) watch(see func(*v1beta1.NodeImage)) {
	s.t.Helper()
	now, err := s.client.List(s.t.Context(), s.selected())
	require.NoError(s.t, err)
	for i := range now.Items {
		see(&now.Items[i])
	}
	w, err := watchtools.NewRetryWatcherWithContext(s.t.Context(), now.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = s.selected().LabelSelector
			return s.client.Watch(ctx, options)
		},
	})
	require.NoError(s.t, err)
	go func() {
		for event := range w.ResultChan() {
			if image, ok := event.Object.(*v1beta1.NodeImage); ok && event.Type != watch.Deleted {
				see(image)
			}
		}
	}()
}

// pull answers for the simulated nodes as their agents would, each after a random delay. Each tag is first reported as being
// pulled, then as present. Four reports are written at once.
func (s *simulation) pull() {
	s.t.Helper()
	queue := make(chan string, 100*s.size)
	for range 4 {
		go func() {
			for {
				select {
				case <-s.t.Context().Done():
					return
				case name := <-queue:
					s.answer(name)
				}
			}
		}()
	}
	s.watch(func(image *v1beta1.NodeImage) {
		if _, alone := image.Labels[pub.FakeNodeImageKey]; alone || image.Labels["type"] == "kwok" {
			time.AfterFunc(rand.N(answerDelay), func() { queue <- image.Name })
		}
	})
}

// join adds the label of the simulation to the cluster's own nodes until the test ends, and returns their number. The agents of
// these nodes answer for them.
func (s *simulation) join() int {
	s.t.Helper()
	nodes, err := s.core.CoreV1().Nodes().List(s.t.Context(), metav1.ListOptions{LabelSelector: "type!=kwok"})
	require.NoError(s.t, err)
	label := func(value string) {
		for _, node := range nodes.Items {
			_, err := s.core.CoreV1().Nodes().Patch(context.WithoutCancel(s.t.Context()), node.Name, types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"e2e":`+value+`}}}`), metav1.PatchOptions{})
			require.NoError(s.t, err)
		}
	}
	s.t.Cleanup(func() { label("null") })
	label(`"` + s.namespace + `"`)
	s.eventually("the nodes have joined", func(c *require.Assertions, ctx context.Context) {
		c.Len(s.list(ctx), s.size+len(nodes.Items))
	})
	return len(nodes.Items)
}

// answer advances every tag of a node by one step.
func (s *simulation) answer(name string) {
	ctx := s.t.Context()
	image, err := s.client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return
	}
	before := image.DeepCopy()
	image.Status = v1beta1.NodeImageStatus{ImageStatuses: map[string]v1beta1.ImageStatus{}}
	changed := false
	for key, entry := range image.Spec.Images {
		var reports v1beta1.ImageStatus
		for i := range entry.Tags {
			report, step := next(before.Status.ImageStatuses[key].Tags, &entry.Tags[i])
			reports.Tags, changed = append(reports.Tags, report), changed || step
			image.Status.Desired++
			switch report.Phase { //nolint:exhaustive // the others are counted by nobody here
			case v1beta1.ImagePhaseSucceeded:
				image.Status.Succeeded++
			case v1beta1.ImagePhasePulling:
				image.Status.Pulling++
			}
		}
		image.Status.ImageStatuses[key] = reports
	}
	if changed {
		// A report whose write conflicts is answered when the conflicting write arrives.
		if _, err = s.client.UpdateStatus(ctx, image, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
			s.t.Errorf("report of %s: %v", name, err)
		}
	}
}

// next returns the report that follows the node's last report on a tag, and whether it differs.
func next(reports []v1beta1.ImageTagStatus, tag *v1beta1.ImageTagSpec) (v1beta1.ImageTagStatus, bool) {
	now := metav1.NewTime(time.Now())
	for i := range reports {
		if reports[i].Tag != tag.Tag || reports[i].Version != tag.Version {
			continue
		}
		if reports[i].CompletionTime != nil {
			return reports[i], false
		}
		done := reports[i]
		done.Phase, done.Progress, done.CompletionTime = v1beta1.ImagePhaseSucceeded, 100, &now
		return done, true
	}
	return v1beta1.ImageTagStatus{Tag: tag.Tag, Version: tag.Version, Phase: v1beta1.ImagePhasePulling, StartTime: &now}, true
}

// parallel records on how many nodes a job has unfinished tags.
type parallel struct {
	limit      int
	lock       sync.Mutex
	unfinished map[string]bool
	most, seen int
	violations []string
}

// observe records whether a job, which may not exist yet, keeps to its limit.
func (s *simulation) observe(job string, limit int) *parallel {
	s.t.Helper()
	p := &parallel{limit: limit, unfinished: map[string]bool{}}
	s.watch(func(image *v1beta1.NodeImage) {
		p.lock.Lock()
		defer p.lock.Unlock()
		p.seen++
		delete(p.unfinished, image.Name)
		for name, entry := range image.Spec.Images {
			for i := range entry.Tags {
				if owns(&entry.Tags[i], job) && !ended(image.Status.ImageStatuses[name].Tags, &entry.Tags[i]) {
					p.unfinished[image.Name] = true
				}
			}
		}
		p.most = max(p.most, len(p.unfinished))
		if len(p.unfinished) > p.limit {
			p.violations = append(p.violations, fmt.Sprintf("at %s of %s: %d", image.ResourceVersion, image.Name, len(p.unfinished)))
		}
	})
	return p
}

func owns(tag *v1beta1.ImageTagSpec, job string) bool {
	for _, owner := range tag.OwnerReferences {
		if owner.Name == job {
			return true
		}
	}
	return false
}

func ended(reports []v1beta1.ImageTagStatus, tag *v1beta1.ImageTagSpec) bool {
	for i := range reports {
		if reports[i].Tag == tag.Tag && reports[i].Version == tag.Version {
			return reports[i].CompletionTime != nil
		}
	}
	return false
}

func (p *parallel) report(t *testing.T) {
	t.Helper()
	p.lock.Lock()
	defer p.lock.Unlock()
	t.Logf("%d versions of NodeImages were seen, with at most %d unfinished (%d allowed)", p.seen, p.most, p.limit)
	require.Equal(t, p.limit, p.most, "it uses what it may")
	require.Empty(t, p.violations)
}

// reconciles returns how many reconciles a controller has done, for all objects together.
func (e *env) reconciles(controller string) (total float64) {
	e.t.Helper()
	pods, err := e.core.CoreV1().Pods("kruise-system").List(e.t.Context(), metav1.ListOptions{LabelSelector: "control-plane=controller-manager"})
	require.NoError(e.t, err)
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		data, err := e.core.CoreV1().RESTClient().Get().Namespace("kruise-system").Resource("pods").Name(pod.Name + ":8080").
			SubResource("proxy").Suffix("metrics").DoRaw(e.t.Context())
		require.NoError(e.t, err)
		for line := range strings.Lines(string(data)) {
			if !strings.HasPrefix(line, `controller_runtime_reconcile_total{controller="`+controller+`"`) {
				continue
			}
			var value float64
			_, err := fmt.Sscan(line[strings.LastIndexByte(strings.TrimSpace(line), ' '):], &value)
			require.NoError(e.t, err)
			total += value
		}
	}
	return total
}

// filled replaces old, new pairs in the text.
func filled(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }
