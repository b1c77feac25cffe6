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
	// spacePeriod is how often the size is checked. Above compactAbove, it is looked at every nearPeriod, because a second is enough to write
	// the rest of a small store.
	spacePeriod = time.Second
	nearPeriod  = spacePeriod / 5
	// spaceTimeout limits one round. Defragmenting the largest store takes about a minute.
	spaceTimeout = 2 * time.Minute
	// defragmentPeriod is the minimum time between two defragmentations while there is space. etcd does not answer
	// during a defragmentation.
	defragmentPeriod = 10 * time.Minute

	// Percentages of the quota. Above compactAbove, old revisions are dropped every second instead of after five
	// minutes. This ends paginated lists that take longer than one check. Above createBelow, no object can be
	// created or become larger. The rest is for deletions, status updates and finalizers. Below resumeBelow, writes that etcd itself
	// refused are accepted again.
	compactAbove = 60
	createBelow  = 85
	resumeBelow  = 95
	// The file is defragmented if less than this percentage of it is in use. defragmentPressed applies to a file near the quota.
	defragmentBelow   = 50
	defragmentPressed = 90
)

// Space prevents an embedded etcd from filling up with old revisions, and reports when it is full of objects. It is
// not used with an external etcd, which has its own operator.
type Space struct {
	// client connects to the member for maintenance requests only. quota is the one of the member, in bytes.
	client   *clientv3.Client
	endpoint string
	quota    int64
	// alarms returns the alarms that the member knows. The request for them would go through raft, which writes to the disk.
	alarms func() []*pb.AlarmMember

	// problem is why there is no space for new objects. It is empty if there is space.
	problem atomic.Pointer[string]

	// revision is the revision at the last check. defragmented is the time of the last defragmentation. near is true if the last round found
	// the store above compactAbove. Only Run accesses them.
	revision     int64
	defragmented time.Time
	near         bool
}

// Space returns the space manager of the member. The caller must run it.
func (e *Embedded) Space() (*Space, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{e.Endpoint}, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("create a client for the embedded etcd: %w", err)
	}
	registerSpaceMetrics()
	return &Space{client: client, endpoint: e.Endpoint, quota: e.quota, alarms: e.etcd.Server.Alarms}, nil
}

// Problem returns why there is no space for new objects, or an empty string if there is space. It never blocks.
func (s *Space) Problem() string {
	if problem := s.problem.Load(); problem != nil {
		return *problem
	}
	return ""
}

// Run manages the space until ctx ends. It closes the client, so it can be called once. Failures are logged, and the
// next round tries again.
func (s *Space) Run(ctx context.Context) {
	defer func() { _ = s.client.Close() }()
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithName("store-space"))
	for {
		if err := s.keep(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Failed to maintain the embedded etcd's disk space")
		}
		for range spacePeriod / nearPeriod {
			select {
			case <-ctx.Done():
				return
			case <-time.After(nearPeriod):
			}
			s.lookNear(ctx)
		}
	}
}

// lookNear publishes the use of a store that may soon be full. A failure waits for the next round.
func (s *Space) lookNear(ctx context.Context) {
	if !s.near {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, spacePeriod)
	defer cancel()
	if u, err := s.look(ctx); err == nil {
		s.tell(ctx, u)
	}
}

// usage is the space that the store uses, in bytes, and its revision.
type usage struct {
	file, inUse, revision int64
	// refuses is true if etcd refuses writes because its file has reached the quota.
	refuses bool
}

// look reads the sizes and the alarm without a write, and publishes the sizes as metrics.
func (s *Space) look(ctx context.Context) (usage, error) {
	status, err := s.client.Status(ctx, s.endpoint)
	if err != nil {
		return usage{}, fmt.Errorf("read the status: %w", err)
	}
	u := usage{file: status.DbSize, inUse: status.DbSizeInUse, revision: status.Header.GetRevision()}
	u.refuses = slices.ContainsFunc(s.alarms(), func(alarm *pb.AlarmMember) bool { return alarm.GetAlarm() == pb.AlarmType_NOSPACE })
	sizeMetric.Set(float64(u.file))
	inUseMetric.Set(float64(u.inUse))
	quotaMetric.Set(float64(s.quota))
	return u, nil
}

// above returns true if size is more than the given percentage of the quota.
func (s *Space) above(size int64, percent int64) bool { return size > s.quota/100*percent }

// keep checks the space once, and frees space if necessary. The steps follow each other: compaction frees pages in
// the file, defragmentation gives free pages back, and only then writes that etcd refused can succeed again.
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
	// The next round may drop everything before this revision.
	s.revision = u.revision
	if u.refuses && !s.above(u.file, resumeBelow) {
		if err := s.resume(ctx); err != nil {
			return err
		}
		u.refuses = false
	}
	s.near = s.above(u.inUse, compactAbove)
	s.tell(ctx, u)
	return nil
}

// compact drops the revisions before the last check, or all old revisions if etcd refuses writes. Watches have
// already received those revisions. In the first round there is no last check, and nothing is dropped. It returns the
// new usage.
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

// defragment shrinks the file if that frees enough space. The quota of etcd counts the whole file, including its free
// pages. Near the quota, it defragments for less gain and without a pause, because the alternative is that etcd
// refuses writes.
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

// resume disarms the alarm of etcd. The alarm stays set after space is freed, and after a restart. An empty member
// disarms the alarms of all members.
func (s *Space) resume(ctx context.Context) error {
	if _, err := s.client.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
		return fmt.Errorf("disarm the alarm: %w", err)
	}
	klog.FromContext(ctx).Info("The embedded etcd has space again and accepts writes")
	return nil
}

// tell publishes whether there is space, to the guard by Problem and as a metric. It logs only a change.
func (s *Space) tell(ctx context.Context, u usage) {
	problem := ""
	if u.refuses || s.above(u.inUse, createBelow) {
		problem = fmt.Sprintf("the store is full: objects use %d MiB of the quota of %d MiB", u.inUse>>20, s.quota>>20)
	}
	if before := s.Problem(); (before == "") != (problem == "") {
		if problem != "" {
			klog.FromContext(ctx).Error(nil, "The embedded etcd is full, refusing new objects", "inUse", u.inUse, "quota", s.quota)
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

// The metrics exist only with an embedded etcd.
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
		Name: "kruise_store_full", Help: "1 while the embedded etcd is too full for new objects, 0 " +
			"otherwise.", StabilityLevel: metrics.ALPHA,
	})
)

var registerSpaceMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(sizeMetric, inUseMetric, quotaMetric, fullMetric)
})
