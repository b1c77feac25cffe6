//go:build integration && fault

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	typed "kruise.io/kruise/pkg/generated/clientset/versioned/typed/apps/v1beta1"
)

// kills is how often the server with the embedded store is killed.
const kills = 100

// TestAcknowledgedWritesSurviveKills kills the server with the embedded store 100 times during writes. After each start, the store
// opens without an operator and contains every acknowledged write.
func TestAcknowledgedWritesSurviveKills(t *testing.T) {
	s := alone(t, "killed")
	namespace := newNamespace(t)
	client := s.client(t, namespace)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	var acknowledged, unanswered int64
	for round := range kills {
		ctx, stop := context.WithCancel(t.Context())
		var writers []*counter
		var group sync.WaitGroup
		for i := range 4 {
			w := &counter{client: client, name: fmt.Sprintf("c-%d-%d", round, i)}
			writers = append(writers, w)
			group.Go(func() { w.run(ctx) })
		}
		<-time.After(50*time.Millisecond + time.Duration(random.Int64N(int64(500*time.Millisecond))))
		s.kill()
		stop()
		group.Wait()
		require.NoError(t, s.launch())
		eventually(t, func() bool {
			require.Empty(t, s.offered(t.Context()), "the store was closed after a crash")
			_, err := s.get(t.Context(), "/readyz")
			return err == nil
		})
		for _, w := range writers {
			acknowledged += w.stored.Load()
			unanswered += w.tried.Load() - w.stored.Load()
			if w.tried.Load() == 0 {
				continue
			}
			list, err := client.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + w.name})
			require.NoError(t, err)
			if len(list.Items) == 0 {
				require.Zero(t, w.stored.Load(), "round %d: %s was acknowledged and is not there", round, w.name)
				continue
			}
			have := int64(*list.Items[0].Spec.Replicas)
			require.GreaterOrEqual(t, have, w.stored.Load(), "round %d: %s lost an acknowledged write", round, w.name)
			require.LessOrEqual(t, have, w.tried.Load(), "round %d: %s has a value that nobody wrote", round, w.name)
			require.NoError(t, client.Delete(t.Context(), w.name, metav1.DeleteOptions{}))
		}
	}
	t.Logf("%d kills, %d writes were acknowledged, %d were not answered", kills, acknowledged, unanswered)
	require.Greater(t, acknowledged, int64(kills))
	require.Positive(t, unanswered, "no kill hit a write")
}

// counter creates a CloneSet and raises its replicas by one with each write.
type counter struct {
	client typed.CloneSetInterface
	name   string
	// tried is the highest value that was sent, stored the highest that was acknowledged.
	tried, stored atomic.Int64
}

func (c *counter) run(ctx context.Context) {
	set := newCloneSet(c.name)
	for next := int64(1); ctx.Err() == nil; next++ {
		*set.Spec.Replicas = int32(next)
		c.tried.Store(next)
		var err error
		if next == 1 {
			set, err = c.client.Create(ctx, set, metav1.CreateOptions{})
		} else {
			set, err = c.client.Update(ctx, set, metav1.UpdateOptions{})
		}
		if err != nil {
			return
		}
		c.stored.Store(next)
	}
}
