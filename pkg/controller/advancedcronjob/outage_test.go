package advancedcronjob

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller/controllertest"
)

func scheduled(text string) edit {
	return func(s *v1beta1.AdvancedCronJobSpec) { s.Schedule = text }
}

// restart returns a world in which a new controller starts with the objects that the old one left, once the clock has moved.
func (w *world) restart(t *testing.T, by time.Duration) *world {
	t.Helper()
	next := newWorld(t, w.cron())
	for _, job := range w.jobs() {
		next.Add(&job)
	}
	next.created = w.created
	next.Clock.SetTime(w.Clock.Now().Add(by))
	return next
}

// A controller can end between the creation of a Job and the write of the status. The next one reads the time of the run from the Job. If
// the spec has no time zone, the schedule goes on in the zone of that time.
func TestTimeOfARunIsInTheZoneOfTheController(t *testing.T) {
	w := newWorld(t, newCron())
	w.Clock.SetTime(controllertest.Now.Add(time.Minute))
	w.settle()
	require.Len(t, w.jobs(), 1)
	run := &child{object: &w.jobs()[0]}
	assert.Equal(t, controllertest.Now.Add(time.Minute).Unix(), run.scheduled().Unix())
	assert.Same(t, time.Local, run.scheduled().Location())
}

// at returns the names of the runs of minutes after the start.
func at(minutes ...int) (names []string) {
	for _, minute := range minutes {
		names = append(names, nameAt(controllertest.Now.Add(time.Duration(minute)*time.Minute)))
	}
	return names
}

// warnings returns the reasons of the warnings, each once.
func (w *world) warnings() (reasons []string) {
	for _, event := range w.Events() {
		if fields := strings.Fields(event); fields[0] == "Warning" && !slices.Contains(reasons, fields[1]) {
			reasons = append(reasons, fields[1])
		}
	}
	return reasons
}

// outage is an hour without a controller, which begins two minutes and ten seconds after the start.
type outage struct {
	edits []edit
	// ends is true if the Jobs of the first two runs end meanwhile.
	ends bool
	// by is how far the clock moves. The default is an hour.
	by time.Duration
	// first are the runs that the new controller starts at once. then are the runs of its first three minutes.
	first, then []int
	// left is how many Jobs there are in the end.
	left int
	// warnings are the reasons of its warnings.
	warnings []string
}

// A controller that starts after an hour starts the last missed run at once, as far as its deadline and the runs that go on allow, and
// then each run at its time. No run is started twice.
func TestRunsAfterAnHourWithoutAController(t *testing.T) {
	for name, test := range map[string]outage{
		"the last one":          {ends: true, first: []int{62}, then: []int{63, 64, 65}, left: 6},
		"without history":       {edits: []edit{history(0, 0)}, ends: true, first: []int{62}, then: []int{63, 64, 65}, left: 4},
		"within the deadline":   {edits: []edit{within(10)}, ends: true, first: []int{62}, then: []int{63, 64, 65}, left: 6},
		"over the deadline":     {edits: []edit{within(9)}, ends: true, then: []int{63, 64, 65}, left: 5, warnings: []string{"MissSchedule"}},
		"old runs are replaced": {edits: []edit{policy(v1beta1.ReplaceConcurrent)}, first: []int{62}, then: []int{63, 64, 65}, left: 1},
		"an old run goes on":    {edits: []edit{policy(v1beta1.ForbidConcurrent)}, left: 1},
		"an old run has ended":  {edits: []edit{policy(v1beta1.ForbidConcurrent)}, ends: true, first: []int{62}, left: 2},
		"paused":                {edits: []edit{paused(true)}},
		"each ten minutes":      {edits: []edit{scheduled("*/10 * * * *")}, first: []int{60}, left: 1},
		"equal distances":       {edits: []edit{scheduled("@every 2m")}, first: []int{62}, then: []int{64}, left: 3},
		"once a day":            {edits: []edit{scheduled("30 12 * * *")}, first: []int{30}, left: 1},
		"not due":               {edits: []edit{scheduled("30 13 * * *")}},
		"three hours": {
			by: 3 * time.Hour, ends: true, first: []int{182}, then: []int{183, 184, 185}, left: 6, warnings: []string{"TooManyMissedTimes"},
		},
		"three hours, a deadline": {
			edits: []edit{within(30)}, by: 3 * time.Hour, ends: true, first: []int{182}, then: []int{183, 184, 185}, left: 6,
		},
		"three hours, over the deadline": {
			edits: []edit{within(9)}, by: 3 * time.Hour, ends: true, then: []int{183, 184, 185}, left: 5, warnings: []string{"MissSchedule"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			old := newWorld(t, newCron(append([]edit{history(9, 9)}, test.edits...)...))
			old.pass(2*time.Minute + 10*time.Second)
			before := old.created
			if test.edits == nil {
				require.Equal(t, at(1, 2), before)
			}
			if test.ends {
				old.end(batchv1.JobComplete)
			}
			w := old.restart(t, cmp.Or(test.by, time.Hour))
			w.settle()
			atOnce := slices.Concat(before, at(test.first...))
			assert.Equal(t, atOnce, w.created, "at once")
			w.pass(3 * time.Minute)
			w.settle()
			assert.Equal(t, slices.Concat(atOnce, at(test.then...)), w.created, "at their times")
			assert.Len(t, w.jobs(), test.left)
			assert.Equal(t, test.warnings, w.warnings())
		})
	}
}

// A controller whose clock was wrong while it ran, ahead or behind, leaves its objects to one whose clock is right. The new one starts
// no run that the old one has started, and continues once its clock has passed the last one.
func TestRunsAfterAWrongClock(t *testing.T) {
	for name, test := range map[string]struct {
		by                  time.Duration
		wrong, first, later []int
	}{
		"an hour ahead":  {by: time.Hour, wrong: []int{61, 62}, later: []int{63, 64}},
		"an hour behind": {by: -time.Hour, first: []int{2}, later: []int{3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			old := newWorld(t, newCron(history(0, 0)))
			old.pass(time.Minute + 10*time.Second)
			require.Equal(t, at(1), old.created)
			wrong := old.restart(t, test.by)
			wrong.pass(time.Minute)
			wrong.settle()
			all := append(at(1), at(test.wrong...)...)
			require.Equal(t, all, wrong.created)

			w := wrong.restart(t, -test.by)
			w.settle()
			all = append(all, at(test.first...)...)
			assert.Equal(t, all, w.created, "at once")
			if test.by > 0 {
				w.pass(test.by)
				assert.Equal(t, all, w.created, "until the clock has passed the last run")
			}
			w.pass(2 * time.Minute)
			w.settle()
			assert.Equal(t, append(all, at(test.later...)...), w.created)
		})
	}
}
