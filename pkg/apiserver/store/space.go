package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
)

const (
	// spacePeriod is how often the size is looked at.
	spacePeriod = time.Second
	// spaceTimeout bounds one step. Defragmenting the largest store takes about a minute.
	spaceTimeout = 2 * time.Minute
	// defragmentPeriod is how often the store is defragmented at most while nothing is refused: it answers nothing meanwhile.
	defragmentPeriod = 10 * time.Minute

	// Percentages of the quota that are in use: from the first on, old revisions are dropped at once instead of after five minutes,
	// which ends lists that go on page by page for longer than a look; from the second on, no object is created, which leaves room
	// for deletions, statuses and finalizers; below the third, writes that etcd itself stopped go on.
	compactAbove = 60
	createBelow  = 85
	resumeBelow  = 95
	// defragmentBelow is the percentage of the file that is in use, below which the rest is given back; the second is that of a
	// file near the quota.
	defragmentBelow   = 50
	defragmentPressed = 90
)

// Space keeps an embedded etcd from filling up with old revisions, and says when it is full of objects.
type Space struct {
	client   *clientv3.Client
	endpoint string
	quota    int64

	// problem says that there is no room for new objects. It is empty otherwise.
	problem atomic.Pointer[string]

	// revision is the store's at the last look, defragmented the time of the last defragmentation. They are Run's alone.
	revision     int64
	defragmented time.Time
}

// Space returns what keeps the member's space. Its Run is to be called.
func (e *Embedded) Space(quota int64) (*Space, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{e.Endpoint}, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("make a client of the embedded etcd: %w", err)
	}
	registerSpaceMetrics()
	return &Space{client: client, endpoint: e.Endpoint, quota: quota}, nil
}

// Problem says in words that there is no room for new objects, or is empty.
func (s *Space) Problem() string {
	if problem := s.problem.Load(); problem != nil {
		return *problem
	}
	return ""
}

// Run looks after the space until ctx ends.
func (s *Space) Run(ctx context.Context) {
	defer func() { _ = s.client.Close() }()
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithName("store-space"))
	for {
		if err := s.keep(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Failed to look after the space of the embedded etcd")
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(spacePeriod):
		}
	}
}

// usage is what the store takes.
type usage struct {
	file, inUse, revision int64
	// refuses says that etcd refuses writes: its file had reached the quota.
	refuses bool
}

func (s *Space) look(ctx context.Context) (usage, error) {
	status, err := s.client.Status(ctx, s.endpoint)
	if err != nil {
		return usage{}, fmt.Errorf("read the status: %w", err)
	}
	alarms, err := s.client.AlarmList(ctx)
	if err != nil {
		return usage{}, fmt.Errorf("list the alarms: %w", err)
	}
	u := usage{file: status.DbSize, inUse: status.DbSizeInUse, revision: status.Header.GetRevision()}
	u.refuses = slices.ContainsFunc(alarms.Alarms, func(alarm *pb.AlarmMember) bool { return alarm.GetAlarm() == pb.AlarmType_NOSPACE })
	sizeMetric.Set(float64(u.file))
	inUseMetric.Set(float64(u.inUse))
	quotaMetric.Set(float64(s.quota))
	return u, nil
}

// above says whether a size is more than so many percent of the quota.
func (s *Space) above(size int64, percent int64) bool { return size > s.quota/100*percent }

// keep looks once, and makes room where that is needed.
func (s *Space) keep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, spaceTimeout)
	defer cancel()
	u, err := s.look(ctx)
	if err != nil {
		return err
	}
	if u.refuses || s.above(u.inUse, compactAbove) {
		if u, err = s.compact(ctx, u); err != nil {
			return err
		}
	}
	if u.refuses || s.above(u.file, compactAbove) {
		if u, err = s.defragment(ctx, u); err != nil {
			return err
		}
	}
	s.revision = u.revision
	if u.refuses && !s.above(u.file, resumeBelow) {
		if err := s.resume(ctx); err != nil {
			return err
		}
		u.refuses = false
	}
	s.tell(ctx, u)
	return nil
}

// compact drops the revisions of before the last look, or all old ones once writes are refused. Watches are ahead of that.
func (s *Space) compact(ctx context.Context, u usage) (usage, error) {
	to := s.revision
	if u.refuses {
		to = u.revision
	}
	if to == 0 {
		return u, nil
	}
	if _, err := s.client.Compact(ctx, to, clientv3.WithCompactPhysical()); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return u, fmt.Errorf("compact to revision %d: %w", to, err)
	}
	return s.look(ctx)
}

// defragment gives back what is not in use. etcd counts the file, whatever is in it.
func (s *Space) defragment(ctx context.Context, u usage) (usage, error) {
	pressed := u.refuses || s.above(u.file, createBelow)
	worthIt := u.inUse*100 <= u.file*defragmentBelow || pressed && u.inUse*100 <= u.file*defragmentPressed
	if !worthIt || !pressed && time.Since(s.defragmented) < defragmentPeriod {
		return u, nil
	}
	start := time.Now()
	if _, err := s.client.Defragment(ctx, s.endpoint); err != nil {
		return u, fmt.Errorf("defragment: %w", err)
	}
	s.defragmented = time.Now()
	after, err := s.look(ctx)
	klog.FromContext(ctx).Info("Defragmented the embedded etcd", "took", time.Since(start), "bytes", u.file, "bytesAfter", after.file)
	return after, err
}

// resume takes back etcd's alarm, which outlives the shortage and a restart.
func (s *Space) resume(ctx context.Context) error {
	if _, err := s.client.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
		return fmt.Errorf("disarm the alarm: %w", err)
	}
	klog.FromContext(ctx).Info("The embedded etcd has space again and accepts writes")
	return nil
}

// tell publishes whether there is room.
func (s *Space) tell(ctx context.Context, u usage) {
	problem := ""
	if u.refuses || s.above(u.inUse, createBelow) {
		problem = fmt.Sprintf("the store is full: objects take %d MiB of its quota of %d MiB", u.inUse>>20, s.quota>>20)
	}
	if before := s.Problem(); (before == "") != (problem == "") {
		if problem != "" {
			klog.FromContext(ctx).Error(nil, "The embedded etcd is full, no objects are created", "inUse", u.inUse, "quota", s.quota)
		} else {
			klog.FromContext(ctx).Info("The embedded etcd has room for new objects again")
		}
	}
	s.problem.Store(&problem)
	full := 0.0
	if problem != "" {
		full = 1
	}
	fullMetric.Set(full)
}

var (
	sizeMetric = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "kruise_store_size_bytes", Help: "Size of the embedded etcd's file.", StabilityLevel: metrics.ALPHA,
	})
	inUseMetric = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "kruise_store_in_use_bytes", Help: "Part of the embedded etcd's file that is in use.", StabilityLevel: metrics.ALPHA,
	})
	quotaMetric = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "kruise_store_quota_bytes", Help: "Size at which the embedded etcd refuses writes.", StabilityLevel: metrics.ALPHA,
	})
	fullMetric = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "kruise_store_full", Help: "1 while the embedded etcd has no room for new objects.", StabilityLevel: metrics.ALPHA,
	})
)

var registerSpaceMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(sizeMetric, inUseMetric, quotaMetric, fullMetric)
})
