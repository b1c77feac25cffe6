package effects

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// named returns a SidecarSet with a version.
func named(name string, version int64) *v1beta1.SidecarSet {
	return &v1beta1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: strconv.FormatInt(version, 10)}}
}

// A review waits until the cache shows what another server has answered.
// Case pod-admission 21b.
func TestReviewsWaitForWritesOfOtherServers(t *testing.T) {
	tests := map[string]struct {
		cached []*v1beta1.SidecarSet
		// stored are the answers of the store, the last one repeated.
		stored []Stored
		// then changes the cache after 100 milliseconds.
		then  func(*Effects) error
		took  time.Duration
		fails bool
	}{
		"nothing is stored":    {stored: []Stored{{Revision: 9}}},
		"the cache is current": {cached: []*v1beta1.SidecarSet{named("a", 7)}, stored: []Stored{{Newest: 7, Count: 1, Revision: 9}}},
		"the cache is ahead":   {cached: []*v1beta1.SidecarSet{named("a", 10)}, stored: []Stored{{Newest: 7, Count: 1, Revision: 9}}},
		"a write is missing": {
			cached: []*v1beta1.SidecarSet{named("a", 7)}, stored: []Stored{{Newest: 8, Count: 1, Revision: 9}},
			then: func(e *Effects) error { return e.setsOf().Update(named("a", 8)) }, took: 100 * time.Millisecond,
		},
		"a creation is missing": {
			cached: []*v1beta1.SidecarSet{named("a", 7)}, stored: []Stored{{Newest: 8, Count: 2, Revision: 9}},
			then: func(e *Effects) error { return e.setsOf().Add(named("b", 8)) }, took: 100 * time.Millisecond,
		},
		"a deletion is missing": {
			cached: []*v1beta1.SidecarSet{named("a", 7), named("b", 5)}, stored: []Stored{{Newest: 7, Count: 1, Revision: 9}},
			then: func(e *Effects) error { return e.setsOf().Delete(named("b", 5)) }, took: 100 * time.Millisecond,
		},
		"an object was deleted in the meantime": {
			cached: []*v1beta1.SidecarSet{named("a", 7)}, stored: []Stored{{Newest: 8, Count: 2, Revision: 9}, {Newest: 7, Count: 1, Revision: 10}},
			took: readPeriod,
		},
		"the cache stays behind": {
			cached: []*v1beta1.SidecarSet{named("a", 7)}, stored: []Stored{{Newest: 8, Count: 1, Revision: 9}}, took: catchUpTime, fails: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEffects(t)
				for _, set := range test.cached {
					require.NoError(t, e.setsOf().Add(set))
				}
				var reads atomic.Int32
				c := NewCurrent(e, func(context.Context) (Stored, error) {
					return test.stored[min(int(reads.Add(1)), len(test.stored))-1], nil
				}, clock.RealClock{})
				if test.then != nil {
					time.AfterFunc(100*time.Millisecond, func() {
						assert.NoError(t, test.then(e))
						e.notify()
					})
				}
				start := time.Now()
				err := c.Await(t.Context())
				assert.Equal(t, test.took, time.Since(start))
				assert.Equal(t, test.fails, apierrors.IsServiceUnavailable(err), "%v", err)
			})
		})
	}
}

// While etcd does not answer, no write is answered either, so the cache is as good as before. An outage delays one review in a second.
func TestReviewsDoNotWaitForAStoreThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		c := NewCurrent(newEffects(t), func(ctx context.Context) (Stored, error) {
			reads++
			<-ctx.Done()
			return Stored{}, errors.New("no leader")
		}, clock.RealClock{})
		start := time.Now()
		for range 3 {
			require.NoError(t, c.Await(t.Context()))
		}
		assert.Equal(t, readTimeout, time.Since(start))
		assert.Equal(t, 1, reads)
		<-time.After(readPause)
		require.NoError(t, c.Await(t.Context()))
		assert.Equal(t, 2, reads)
	})
}

// Reviews that come during a read share the next one.
func TestReviewsShareReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		c := NewCurrent(newEffects(t), func(context.Context) (Stored, error) {
			reads.Add(1)
			<-time.After(time.Millisecond)
			return Stored{Revision: 1}, nil
		}, clock.RealClock{})
		answered := make(chan error)
		for range 100 {
			go func() { answered <- c.Await(t.Context()) }()
		}
		for range 100 {
			require.NoError(t, <-answered)
		}
		assert.LessOrEqual(t, reads.Load(), int32(3))
	})
}
