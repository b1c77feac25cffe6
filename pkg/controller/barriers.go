package controller

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"kruise.io/kruise/pkg/controller/consistency"
)

// barriers are passed by each informer once, when the first controller that reads it begins to work. Controllers work only while this
// replica leads, and a replica that stops leading ends. So each informer becomes current after the replica began to lead.
type barriers struct {
	lock sync.Mutex
	of   map[cache.SharedIndexInformer]*passage
}

// passage is the barrier of one informer. Its lock is held while the first controller waits, and the others wait for the lock.
type passage struct {
	lock sync.Mutex
	done bool
}

// pass returns when all informers of a controller are current. It waits for them at the same time.
func (b *barriers) pass(ctx context.Context, deps *Deps) error {
	needs := deps.Needs()
	errs := make([]error, len(needs))
	var waiting sync.WaitGroup
	for i := range needs {
		waiting.Go(func() { errs[i] = b.passage(needs[i].Informer).pass(ctx, deps, &needs[i]) })
	}
	waiting.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *barriers) passage(informer cache.SharedIndexInformer) *passage {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.of == nil {
		b.of = map[cache.SharedIndexInformer]*passage{}
	}
	if b.of[informer] == nil {
		b.of[informer] = &passage{}
	}
	return b.of[informer]
}

func (p *passage) pass(ctx context.Context, deps *Deps, need *Need) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.done {
		return nil
	}
	barrier := &consistency.Barrier{
		Resource: need.Kind.Kind, Reached: need.Informer.GetStore().LastStoreSyncResourceVersion,
		Open: func() (consistency.Source, metav1.ListOptions, error) { return deps.source(need) },
	}
	if err := barrier.Pass(ctx); err != nil {
		return err
	}
	p.done = true
	return nil
}

// source returns the resource of an informer, and the options that select what the informer watches. So it needs no other permission than
// the informer.
func (d *Deps) source(need *Need) (consistency.Source, metav1.ListOptions, error) {
	options := metav1.ListOptions{LabelSelector: need.Label}
	mapping, err := d.Mapper.RESTMapping(need.Kind.GroupKind(), need.Kind.Version)
	if err != nil {
		return nil, options, fmt.Errorf("find %s: %w", need.Kind, err)
	}
	namespace := need.Namespace
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		// A controller that is restricted to a namespace may read only this Namespace.
		if need.Kind.GroupKind() == corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind() && namespace != metav1.NamespaceAll {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, namespace).String()
		}
		namespace = metav1.NamespaceAll
	}
	return d.Dynamic.Resource(mapping.Resource).Namespace(namespace), options, nil
}
