package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/kubectl/cluster"
	"kruise.io/kruise/pkg/kubectl/workload"
)

// source follows a workload and its Pods by two informers, one with a single object and one with the selector of the
// workload.
type source struct {
	workloads, pods cache.Store
	// changed has a signal after a change of either. One signal stands for all changes since the last read.
	changed chan struct{}
	// title and key name the workload. synced are the informers to wait for at the start.
	title  string
	key    string
	synced []cache.InformerSynced
}

// follow starts to follow a workload. It ends with the context. It returns when both caches are filled. A later
// change of the selector is not noticed.
func follow(ctx context.Context, c *cluster.Cluster, w *workload.Workload) (*source, error) {
	selector, err := w.LabelSelector()
	if err != nil {
		return nil, err
	}
	s := &source{
		changed: make(chan struct{}, 1), title: w.Title + " " + w.GetName(),
		key: strings.TrimPrefix(w.GetNamespace()+"/"+w.GetName(), "/"),
	}
	// The informer has one object only, whatever else is in the namespace.
	one := fields.OneTermEqualSelector("metadata.name", w.GetName()).String()
	objects := c.Dynamic.Resource(cluster.Resource(w.Kind)).Namespace(w.GetNamespace())
	s.workloads = s.run(ctx, &unstructured.Unstructured{}, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = one
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = one
			return objects.Watch(ctx, options)
		},
	})
	pods := c.Core.CoreV1().Pods(w.GetNamespace())
	s.pods = s.run(ctx, &corev1.Pod{}, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector.String()
			return pods.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector.String()
			return pods.Watch(ctx, options)
		},
	})
	if !cache.WaitForCacheSync(ctx.Done(), s.synced...) {
		return nil, context.Cause(ctx)
	}
	return s, nil
}

// run starts an informer that reports changes, and returns its store. The informer lists and watches again after
// errors.
func (s *source) run(ctx context.Context, example runtime.Object, from cache.ListerWatcher) cache.Store {
	tell := func() {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: from, ObjectType: example, ResyncPeriod: time.Duration(0),
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { tell() }, UpdateFunc: func(any, any) { tell() }, DeleteFunc: func(any) { tell() },
		},
	})
	go controller.RunWithContext(ctx)
	s.synced = append(s.synced, controller.HasSynced)
	return store
}

// read returns what is shown now. It reads the caches only. A workload that is gone or cannot be read ends the view.
func (s *source) read() Model {
	found, exists, err := s.workloads.GetByKey(s.key)
	object, ok := found.(*unstructured.Unstructured)
	if err != nil || !exists || !ok {
		return Model{Ended: s.title + " was deleted"}
	}
	// The cache owns the object.
	w, err := workload.Of(object.DeepCopy())
	if err != nil {
		return Model{Ended: err.Error()}
	}
	progress, err := w.Progress()
	if err != nil {
		return Model{Ended: err.Error()}
	}
	m := Model{Workload: w, Progress: progress}
	for _, item := range s.pods.List() {
		if pod, ok := item.(*corev1.Pod); ok && metav1.IsControlledBy(pod, w) {
			m.Pods = append(m.Pods, pod)
		}
	}
	slices.SortFunc(m.Pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return m
}

// lines prints a line for each change until the rollout is done. print is called with each line that differs from the
// one before. It returns an error if the workload is gone or the rollout has exceeded its deadline.
func (s *source) lines(ctx context.Context, print func(string)) error {
	last := ""
	for {
		model := s.read()
		if line := Line(&model); line != last {
			print(line)
			last = line
		}
		switch {
		case model.Ended != "":
			return fmt.Errorf("the rollout cannot be watched any more: %s", model.Ended)
		case model.Progress.Failed != "" && !model.Done():
			return fmt.Errorf("%s", model.Progress.Failed)
		case model.Done():
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.changed:
		}
	}
}
