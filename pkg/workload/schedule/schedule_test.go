package schedule

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parse(t *testing.T, text, zone string) *Schedule {
	t.Helper()
	s, err := Parse(text, &zone)
	require.NoError(t, err)
	return s
}

func TestTextsThatAreNoSchedule(t *testing.T) {
	for _, text := range []string{"", "61 * * * *", "TZ=", "TZ=Mars/X 0 1 * * *", "* * * *", "@never"} {
		_, err := Parse(text, nil)
		assert.Error(t, err, text)
	}
	for _, text := range []string{"@hourly", "@every 1h30m", "TZ=UTC 0 1 * * *", "CRON_TZ=Asia/Shanghai 0 8 * * *"} {
		_, err := Parse(text, nil)
		assert.NoError(t, err, text)
	}
}

// table computes when a daily or half-hourly run is due in a year, minute by minute and without the cron library: a run is due when
// the clock on the wall shows its time for the first time on a day, or each time if it names no hour.
func table(zone *time.Location, year int, due func(hour, minute int) bool, once bool) (times []time.Time) {
	var shown [367 * 24 * 60]bool
	end := time.Date(year+1, 1, 1, 0, 0, 0, 0, zone)
	for t := time.Date(year, 1, 1, 0, 0, 0, 0, zone); t.Before(end); t = t.Add(time.Minute) {
		wall := (t.YearDay()*24+t.Hour())*60 + t.Minute()
		if due(t.Hour(), t.Minute()) && (!once || !shown[wall]) {
			times = append(times, t.UTC())
		}
		shown[wall] = true
	}
	return times
}

// Case advancedcronjob 15: in a year of three zones, an hour that is skipped has no run, and an hour that comes twice has one.
func TestYearOfClockChanges(t *testing.T) {
	at := func(hour, minute int) func(int, int) bool {
		return func(h, m int) bool { return h == hour && m == minute }
	}
	for text, test := range map[string]struct {
		due  func(hour, minute int) bool
		once bool
	}{
		"30 1 * * *": {at(1, 30), true}, "0 2 * * *": {at(2, 0), true}, "30 2 * * *": {at(2, 30), true}, "59 2 * * *": {at(2, 59), true},
		"0 3 * * *": {at(3, 0), true}, "0 0 * * *": {at(0, 0), true},
		"15 1-3 * * *": {func(h, m int) bool { return h >= 1 && h <= 3 && m == 15 }, true},
		"*/30 * * * *": {func(_, m int) bool { return m%30 == 0 }, false},
		"@hourly":      {func(_, m int) bool { return m == 0 }, false},
	} {
		for _, name := range []string{"America/New_York", "Europe/Berlin", "Australia/Sydney"} {
			t.Run(text+" in "+name, func(t *testing.T) {
				zone, err := time.LoadLocation(name)
				require.NoError(t, err)
				want := table(zone, 2026, test.due, test.once)
				s := parse(t, text, name)
				var got []time.Time
				end := time.Date(2027, 1, 1, 0, 0, 0, 0, zone)
				for next := s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, zone).Add(-time.Second)); next.Before(end); next = s.Next(next) {
					got = append(got, next.UTC())
				}
				require.Equal(t, len(want), len(got))
				assert.True(t, slices.EqualFunc(want, got, time.Time.Equal))
			})
		}
	}
}

// The last run is found without a walk over all missed ones.
func TestLastRunAfterALongTime(t *testing.T) {
	start := time.Date(2026, 1, 1, 10, 0, 30, 0, time.UTC)
	for name, test := range map[string]struct {
		text string
		gone time.Duration
		want string
	}{
		"none":              {"* * * * *", 20 * time.Second, ""},
		"one":               {"* * * * *", 40 * time.Second, "2026-01-01T10:01:00Z"},
		"three hours":       {"* * * * *", 3 * time.Hour, "2026-01-01T13:00:00Z"},
		"two centuries":     {"* * * * *", 200 * 365 * 24 * time.Hour, "2225-11-14T10:00:00Z"},
		"leap day":          {"0 0 29 2 *", 5 * 365 * 24 * time.Hour, "2028-02-29T00:00:00Z"},
		"hourly":            {"@hourly", 90 * time.Minute, "2026-01-01T11:00:00Z"},
		"every":             {"@every 45s", 10 * time.Minute, "2026-01-01T10:10:15Z"},
		"every, none":       {"@every 45s", 44 * time.Second, ""},
		"day that is never": {"59 23 31 2 *", time.Hour, ""},
		"monthly":           {"0 0 1 * *", 100 * 24 * time.Hour, "2026-04-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			last := parse(t, test.text, "UTC").Last(start, start.Add(test.gone))
			if test.want == "" {
				assert.True(t, last.IsZero(), last)
				return
			}
			assert.Equal(t, test.want, last.UTC().Format(time.RFC3339))
		})
	}
	assert.Equal(t, "2026-01-01T10:02:00Z", parse(t, "@every 45s", "UTC").Following(start, start.Add(46*time.Second)).Format(time.RFC3339))
	assert.Equal(t, 100, parse(t, "* * * * *", "UTC").Missed(start, start.Add(24*time.Hour), 100))
	assert.Equal(t, 2, parse(t, "* * * * *", "UTC").Missed(start, start.Add(2*time.Minute), 100))
}

// Case advancedcronjob 4.
func TestScheduleInAZone(t *testing.T) {
	day := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	assert.Equal(t, "2026-06-02T00:00:00Z", parse(t, "0 8 * * *", "Asia/Shanghai").Next(day).UTC().Format(time.RFC3339))
	zone := "Asia/Shanghai"
	own, err := Parse("TZ=UTC 0 8 * * *", &zone)
	require.NoError(t, err)
	assert.Equal(t, "2026-06-02T08:00:00Z", own.Next(day).UTC().Format(time.RFC3339))
}
