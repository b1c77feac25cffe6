//go:build integration && fault

package integration

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

const (
	// numbered is the annotation that a writer raises.
	numbered = "test.kruise.io/number"
	// writePause is the time between two writes of one writer.
	writePause = 20 * time.Millisecond
)

// load is a number of clients that write all the time, each an object of its own.
type load struct {
	client typed.CloneSetInterface
	stop   context.CancelFunc
	group  sync.WaitGroup

	lock sync.Mutex
	// acknowledged and seen are the values of each object that were stored, and that the watch showed.
	acknowledged, seen map[string]bool
	failures           []error
	slowest            time.Duration
	// last is the time of the last acknowledged write, or of the start. gap is the longest time without one.
	last time.Time
	gap  time.Duration
}

// startLoad has that many writers at work until finish.
func startLoad(t *testing.T, client typed.CloneSetInterface, writers int) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{client: client, stop: stop, acknowledged: map[string]bool{}, seen: map[string]bool{}}
	for i := range writers {
		create(t, client, newCloneSet(fmt.Sprintf("load-%d", i)))
	}
	l.watch(ctx, t)
	l.last = time.Now()
	for i := range writers {
		l.group.Go(func() { l.write(ctx, fmt.Sprintf("load-%d", i)) })
	}
	return l
}

// startOpenLoad has a write begin every period, whether the ones before are answered or not. Each object is written again only when
// all others were.
func startOpenLoad(t *testing.T, client typed.CloneSetInterface, objects int, period time.Duration) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{client: client, stop: stop, acknowledged: map[string]bool{}, seen: map[string]bool{}}
	for i := range objects {
		create(t, client, newCloneSet(fmt.Sprintf("load-%d", i)))
	}
	l.watch(ctx, t)
	l.last = time.Now()
	l.every(ctx, period, func(count int) { l.once(ctx, fmt.Sprintf("load-%d", count%objects), 1+count/objects) })
	return l
}

// every has a write begin in each period, whether the ones before are answered or not.
func (l *load) every(ctx context.Context, period time.Duration, write func(count int)) {
	l.group.Go(func() {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for count := 0; ctx.Err() == nil; count++ {
			l.group.Go(func() { write(count) })
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
}

func (l *load) watch(ctx context.Context, t *testing.T) {
	t.Helper()
	list, err := l.client.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return l.client.Watch(ctx, options)
		},
	})
	require.NoError(t, err)
	go func() {
		for event := range watcher.ResultChan() {
			if set, ok := event.Object.(*v1beta1.CloneSet); ok {
				l.lock.Lock()
				l.seen[set.Name+"/"+set.Annotations[numbered]] = true
				l.lock.Unlock()
			}
		}
	}()
}

func (l *load) write(ctx context.Context, name string) {
	for number := 1; ctx.Err() == nil; number++ {
		l.once(ctx, name, number)
		select {
		case <-ctx.Done():
		case <-time.After(writePause):
		}
	}
}

// once writes one value of an object.
func (l *load) once(ctx context.Context, name string, number int) {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, numbered, strconv.Itoa(number))
	l.note(ctx, name+"/"+strconv.Itoa(number), func() error {
		_, err := l.client.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
}

// note writes one value, and notes what came of it.
func (l *load) note(ctx context.Context, value string, write func() error) {
	began := time.Now()
	err := write()
	if ctx.Err() != nil {
		return
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	l.slowest = max(l.slowest, time.Since(began))
	if err != nil {
		l.failures = append(l.failures, fmt.Errorf("%s: %w", began.Format(time.StampMilli), err))
		return
	}
	l.acknowledged[value] = true
	l.gap = max(l.gap, time.Since(l.last))
	l.last = time.Now()
}

// failed returns the failures so far.
func (l *load) failed() []error {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.failures
}

// longestGap returns the longest time without an acknowledged write since the last call.
func (l *load) longestGap() time.Duration {
	l.lock.Lock()
	defer l.lock.Unlock()
	gap := max(l.gap, time.Since(l.last))
	l.gap = 0
	return gap.Round(time.Millisecond)
}

// finish ends the writers, and checks that the watch has shown every acknowledged write.
func (l *load) finish(t *testing.T) {
	t.Helper()
	time.Sleep(time.Second) //nolint:forbidigo // What fails late must be seen.
	l.lock.Lock()
	wanted := make([]string, 0, len(l.acknowledged))
	for value := range l.acknowledged {
		wanted = append(wanted, value)
	}
	l.lock.Unlock()
	missed := 0
	_ = assert.Eventually(t, func() bool {
		l.lock.Lock()
		defer l.lock.Unlock()
		missed = 0
		for _, value := range wanted {
			if !l.seen[value] {
				missed++
			}
		}
		return missed == 0
	}, 30*time.Second, 100*time.Millisecond)
	l.stop()
	l.group.Wait()
	t.Logf("%d writes were acknowledged, %d failed, the slowest took %s, the watch missed %d", len(l.acknowledged), len(l.failures),
		l.slowest.Round(time.Millisecond), missed)
	require.NotEmpty(t, l.acknowledged)
	assert.Zero(t, missed, "the watch missed acknowledged writes")
	for _, err := range l.failures[:min(len(l.failures), 10)] {
		t.Log(err)
	}
}
