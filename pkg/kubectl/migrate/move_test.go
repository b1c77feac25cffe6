package migrate

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// world is two workloads whose controllers need one wait for each change.
type world struct {
	source, target         int32
	sourcePods, targetPods int32
	most                   int32
}

func (w *world) move(replicas, surge int32, out *bytes.Buffer) *move {
	scale := func(of *int32) func(context.Context, int32, int32) error {
		return func(_ context.Context, from, to int32) error {
			if *of != from {
				return errors.New("changed")
			}
			*of = to
			return nil
		}
	}
	return &move{
		source: "Deployment/a", target: "CloneSet/b", replicas: replicas, surge: surge, out: out,
		readSource:  func(context.Context) (end, error) { return end{w.source, w.sourcePods == w.source}, nil },
		readTarget:  func(context.Context) (end, error) { return end{w.target, w.targetPods == w.target}, nil },
		scaleSource: scale(&w.source), scaleTarget: scale(&w.target),
		wait: func(context.Context) error {
			w.sourcePods, w.targetPods = w.source, w.target
			w.most = max(w.most, w.sourcePods+w.targetPods)
			return nil
		},
	}
}

// Case kubectl-plugin 14: there are never more Pods than the replicas and the surge.
func TestReplicasMoveInSteps(t *testing.T) {
	out := &bytes.Buffer{}
	w := &world{source: 4, sourcePods: 4}
	require.NoError(t, w.move(-1, 3, out).run(t.Context()))
	assert.EqualValues(t, 0, w.source)
	assert.EqualValues(t, 4, w.target)
	assert.EqualValues(t, 7, w.most)
	assert.Equal(t, "Migration progress: Deployment/a scale in 3, CloneSet/b scale out 3\n"+
		"Migration progress: Deployment/a scale in 4, CloneSet/b scale out 4\n"+
		"Successfully migrated 4 replicas from Deployment/a to CloneSet/b\n", out.String())
}

func TestPartOfTheReplicasMoves(t *testing.T) {
	w := &world{source: 4, sourcePods: 4, target: 1, targetPods: 1}
	require.NoError(t, w.move(2, 1, &bytes.Buffer{}).run(t.Context()))
	assert.EqualValues(t, 2, w.source)
	assert.EqualValues(t, 3, w.target)
	assert.ErrorContains(t, w.move(9, 1, &bytes.Buffer{}).run(t.Context()), "has 2 replicas: move at most that many, not 9")
}

func TestMovingEndsWithItsContext(t *testing.T) {
	w := &world{source: 1, sourcePods: 1}
	m := w.move(-1, 1, &bytes.Buffer{})
	m.wait = every(pause)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("timed out"))
	assert.EqualError(t, m.run(ctx), "wait for CloneSet/b: timed out")
	assert.EqualValues(t, 1, w.source, "the source keeps its replicas")
}
