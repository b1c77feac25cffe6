package imagepuller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// The pause between attempts doubles from firstPause to longestPause.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// awayPause does not grow, so pulls continue soon after a long outage.
	awayPause = 5 * time.Second

	// complete is the progress of a pull that succeeded, in percent.
	complete = 100
	// messageLimit is the maximum length of a message in bytes. It keeps the status of a node with many images small.
	messageLimit = 1 << 10
)

// errDeadline is the specified message for a pull that exceeded activeDeadlineSeconds.
var errDeadline = errors.New("pulling exceeds the activeDeadlineSeconds")

// pull is the work on one version of one tag. A new version is another pull.
type pull struct {
	// version, node and began are set once. node is the NodeImage when the pull began, for events.
	version int64
	node    *metav1.ObjectMeta
	began   time.Time
	// task is replaced when the NodeImage changes without a new version. Each attempt reads the current task.
	task atomic.Pointer[task]
	// end cancels the pull. Its result is then dropped.
	end context.CancelFunc

	// mu guards now, which is the report of this pull.
	mu  sync.Mutex
	now v1beta1.ImageTagStatus
}

// begin starts a pull. A pull that was interrupted keeps its first start time.
func (c *Controller) begin(ctx context.Context, node *v1beta1.NodeImage, t *task) *pull {
	p := &pull{version: t.version, node: node.ObjectMeta.DeepCopy(), began: c.config.Clock.Now()}
	p.task.Store(t)
	p.now = v1beta1.ImageTagStatus{Tag: t.tag, Version: t.version, Phase: v1beta1.ImagePhaseWaiting}
	var since *metav1.Time
	// An agent before this one had begun the pull. Its start time counts for the deadline.
	if before := reportOf(node, t.image, t.tag); before != nil && before.Version == t.version && before.Phase == v1beta1.ImagePhasePulling {
		since = before.StartTime
		p.now.Phase, p.now.StartTime = v1beta1.ImagePhasePulling, since.DeepCopy()
	}
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "image", t.image, "tag", t.tag, "version", t.version)
	ctx, p.end = context.WithCancel(klog.NewContext(ctx, logger))
	c.running.Go(func() {
		defer p.end()
		c.run(ctx, p, since)
	})
	return p
}

// report returns a copy of the current status.
func (p *pull) report() v1beta1.ImageTagStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *p.now.DeepCopy()
}

// say changes the status and enqueues a write. The worker of the queue decides when it writes.
func (c *Controller) say(p *pull, change func(*v1beta1.ImageTagStatus)) {
	p.mu.Lock()
	change(&p.now)
	p.mu.Unlock()
	c.queue.Add(c.key())
}

// run runs the pull to its end. If ctx ends first, the result is dropped: the pull was replaced, or the agent stops.
// A present image needs no slot.
func (c *Controller) run(ctx context.Context, p *pull, since *metav1.Time) {
	id, err := c.present(ctx, p.task.Load())
	if err == nil && id == "" {
		id, err = c.whenFree(ctx, p, since)
	}
	if ctx.Err() == nil {
		c.finish(ctx, p, id, err)
	}
}

// whenFree waits for a free slot and then pulls. since is the start time of an interrupted pull, or nil. The time
// that a pull waits for a slot does not count for its deadline, unless it had already started before.
func (c *Controller) whenFree(ctx context.Context, p *pull, since *metav1.Time) (string, error) {
	if c.slots != nil {
		if !c.slots.TryAcquire(1) {
			c.say(p, func(now *v1beta1.ImageTagStatus) { now.Phase, now.StartTime = v1beta1.ImagePhaseWaiting, nil })
			if err := c.slots.Acquire(ctx, 1); err != nil {
				return "", err
			}
		}
		defer c.slots.Release(1)
	}
	pullsActive.Inc()
	defer pullsActive.Dec()
	if since == nil {
		since = c.time()
	}
	c.say(p, func(now *v1beta1.ImageTagStatus) { now.Phase, now.StartTime = v1beta1.ImagePhasePulling, since })
	// The rest of the deadline can be negative after a long outage of the agent. The pull then fails at once. A second is added, because
	// the start time has whole seconds. So the deadline of the job, which began earlier, is over first, and the job can say so.
	if deadline := p.task.Load().Deadline; deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, since.Add(deadline+time.Second).Sub(c.config.Clock.Now()), errDeadline)
		defer cancel()
	}
	return c.pull(ctx, p)
}

// pull retries until an attempt succeeds, no attempts are left, or the deadline is over. An outage of the API or of the runtime
// does not count as an attempt.
func (c *Controller) pull(ctx context.Context, p *pull) (string, error) {
	pause := firstPause
	// n is the number of the current attempt. It does not grow during an outage.
	for n := 1; ; {
		t := p.task.Load()
		id, err := c.attempt(ctx, t, n > 1)
		var message string
		wait := pause
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err == nil:
			return id, nil
		// The attempt did not happen, so n stays.
		case errors.As(err, &awayError{}):
			wait = awayPause
			message = fmt.Sprintf("trying again in %v: %v", wait, err)
		// The last attempt failed, or the image name is wrong, which no attempt can cure.
		case n >= t.attempts() || errors.Is(err, errReference):
			return "", err
		default:
			message = fmt.Sprintf("attempt %d of %d failed, the next one is in %v: %v", n, t.attempts(), wait, err)
			n, pause = n+1, min(2*pause, longestPause)
		}
		klog.FromContext(ctx).V(2).Info("Not pulled yet", "reason", message)
		c.say(p, func(now *v1beta1.ImageTagStatus) { now.Message = shortened(message) })
		timer := c.config.Clock.NewTimer(wait)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return "", context.Cause(ctx)
		}
	}
}

// finish records the result of the pull in the status and in events. The completion time makes the result final:
// after it is stored, no agent pulls this version again.
func (c *Controller) finish(ctx context.Context, p *pull, id string, err error) {
	t := p.task.Load()
	end := c.time()
	took := c.config.Clock.Since(p.began).Round(time.Millisecond)
	c.say(p, func(now *v1beta1.ImageTagStatus) {
		// The pull ended before it asked for a slot: the image was present, or its name is wrong.
		if now.StartTime == nil {
			now.StartTime = end
		}
		now.CompletionTime, now.Message = end, ""
		if err != nil {
			now.Phase, now.Message = v1beta1.ImagePhaseFailed, shortened(err.Error())
			return
		}
		now.Phase, now.Progress, now.ImageID = v1beta1.ImagePhaseSucceeded, complete, t.image+"@"+id
	})
	countPull(took, err)
	klog.FromContext(ctx).V(2).Info("Pull ended", "took", took, "err", err)
	c.announce(p, t, took, err)
}

// time returns the current time with the precision of the API, one second.
func (c *Controller) time() *metav1.Time {
	now := metav1.NewTime(c.config.Clock.Now()).Rfc3339Copy()
	return &now
}

// shortened cuts a message to messageLimit, without cutting a character in two.
func shortened(message string) string {
	if len(message) <= messageLimit {
		return message
	}
	return strings.ToValidUTF8(message[:messageLimit-len("…")], "") + "…"
}
