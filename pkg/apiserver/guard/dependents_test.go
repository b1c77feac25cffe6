package guard

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// crowd is a cluster with many foreign Pods. It answers a page in ten seconds.
type crowd struct {
	metadata.Getter
	pages int
	// asked counts the requests.
	asked atomic.Int32
	// refuses makes all requests fail. expires is the page whose token is too old once, or zero.
	refuses atomic.Bool
	expires int
}

func (c *crowd) Resource(schema.GroupVersionResource) metadata.Getter { return c }

func (c *crowd) List(ctx context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	c.asked.Add(1)
	if c.refuses.Load() {
		return nil, errors.New("too many requests")
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(10 * time.Second):
	}
	page, _ := strconv.Atoi(options.Continue) // The first request has no token.
	if page > 0 && page == c.expires {
		c.expires = 0
		err := apierrors.NewResourceExpired("the token is too old")
		err.ErrStatus.Continue = "0" + options.Continue
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{{}}}
	if page++; page < c.pages {
		list.Continue = strconv.Itoa(page)
	}
	return list, nil
}

// TestFirstStartInALargeCluster needs ten minutes for the search, and the token of a page expires.
func TestFirstStartInALargeCluster(t *testing.T) {
	test(t, func(w *world) {
		pods := &crowd{pages: 30, expires: 20}
		w.metadata = pods
		w.start()
		w.pass(9 * time.Minute)
		w.isClosed("the store has not been checked yet")
		w.pass(2 * time.Minute)
		w.isOpen()
		assert.EqualValues(t, 2*30+1, pods.asked.Load(), "each page once, and one again")
		w.stop()
	})
}

// TestFailedSearchIsRepeatedLessOften counts the searches of ten minutes.
func TestFailedSearchIsRepeatedLessOften(t *testing.T) {
	test(t, func(w *world) {
		pods := &crowd{pages: 1}
		pods.refuses.Store(true)
		w.metadata = pods
		w.start()
		w.pass(10 * time.Minute)
		w.isClosed("list controllerrevisions: too many requests")
		assert.Less(t, pods.asked.Load(), int32(20))
		pods.refuses.Store(false)
		w.pass(2 * time.Minute)
		w.isOpen()
		w.stop()
	})
}
