// Package schedule says when the runs of a cron schedule are due. It only computes. Enter at Parse.
package schedule

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
	_ "time/tzdata" // A zone is known by its name, whatever the machine has installed.

	"github.com/robfig/cron/v3"
)

// Schedule is a parsed cron schedule with its time zone.
type Schedule struct {
	times cron.Schedule
	// daily is true if the schedule names hours. A run of such a schedule is due once on a day whose clock goes back, though its
	// time comes twice. The runs of other schedules come at equal distances.
	daily bool
}

// Parse reads a schedule in the zone, or in that of the text itself. Without either, it is in the zone of this machine.
func Parse(text string, zone *string) (s *Schedule, err error) {
	defer func() {
		// The parser panics for some texts.
		if recover() != nil {
			s, err = nil, fmt.Errorf("schedule %q cannot be read", text)
		}
	}()
	if zone != nil && !strings.HasPrefix(text, "TZ=") && !strings.HasPrefix(text, "CRON_TZ=") {
		text = "TZ=" + *zone + " " + text
	}
	times, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", text, err)
	}
	// A schedule such as "@every 1h" names no hours.
	spec, ok := times.(*cron.SpecSchedule)
	const hours = 24
	return &Schedule{times: times, daily: ok && bits.OnesCount64(spec.Hour&(1<<hours-1)) < hours}, nil
}

// Next returns the first time after t at which a run is due, or zero if no run is due within five years.
func (s *Schedule) Next(t time.Time) time.Time {
	next := s.times.Next(t)
	for s.daily && !next.IsZero() && s.repeated(next) {
		next = s.times.Next(next)
	}
	return next
}

// repeated reports whether the clock showed the same time an hour before, on the same day.
func (s *Schedule) repeated(t time.Time) bool {
	spec, ok := s.times.(*cron.SpecSchedule)
	if !ok {
		return false
	}
	local, before := t.In(spec.Location), t.Add(-time.Hour).In(spec.Location)
	return local.Hour() == before.Hour() && local.Minute() == before.Minute() && local.Day() == before.Day()
}

// windows are the times before now in which Last looks for a run. Because none was due in the one before, each has few runs.
// Looking from the last run on could take millions of steps for a schedule of each minute.
var windows = []time.Duration{time.Minute, time.Hour, 25 * time.Hour, 32 * 24 * time.Hour, 367 * 24 * time.Hour}

// Last returns the last time after a time, and not after now, at which a run was due. It returns zero if no run was due.
func (s *Schedule) Last(after, now time.Time) time.Time {
	if every, ok := s.times.(cron.ConstantDelaySchedule); ok {
		return lastOf(every.Delay, after, now)
	}
	for _, window := range windows {
		if from := now.Add(-window); from.After(after) {
			if last := s.walk(from, now); !last.IsZero() {
				return last
			}
		}
	}
	return s.walk(after, now)
}

// Following returns the first time after now at which a run is due, where the runs count from a time. It returns zero if there is
// none within five years.
func (s *Schedule) Following(after, now time.Time) time.Time {
	if every, ok := s.times.(cron.ConstantDelaySchedule); ok && !after.After(now) {
		start := after.Truncate(time.Second)
		return start.Add((now.Sub(start)/every.Delay + 1) * every.Delay)
	}
	return s.Next(now)
}

// walk returns the last run after a time and not after now, by going through all of them.
func (s *Schedule) walk(from, now time.Time) (last time.Time) {
	for t := s.Next(from); !t.IsZero() && !t.After(now); t = s.Next(t) {
		last = t
	}
	return last
}

// lastOf is Last for runs at equal distances. They count from the second of after.
func lastOf(delay time.Duration, after, now time.Time) time.Time {
	start := after.Truncate(time.Second)
	if runs := now.Sub(start) / delay; runs > 0 {
		return start.Add(runs * delay)
	}
	return time.Time{}
}

// Missed returns how many runs were due after a time, and not after now. It counts up to most.
func (s *Schedule) Missed(after, now time.Time, most int) (count int) {
	for t := s.Next(after); count < most && !t.IsZero() && !t.After(now); t = s.Next(t) {
		count++
	}
	return count
}
