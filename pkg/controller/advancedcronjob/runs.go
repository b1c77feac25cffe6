package advancedcronjob

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// lastRuns holds the time of the last run of each cron job that this process started. The status can lack it: if the status cannot be
// written for minutes, a short Job can have ended and be deleted before the next attempt, and its run must not start again.
type lastRuns struct {
	lock sync.Mutex
	at   map[types.UID]time.Time
}

func (l *lastRuns) remember(cron types.UID, due time.Time) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.at[cron] = due
}

// restore writes the time into a status that has an earlier one, or none.
func (l *lastRuns) restore(cron types.UID, status *v1beta1.AdvancedCronJobStatus) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if due, known := l.at[cron]; known && (status.LastScheduleTime == nil || due.After(status.LastScheduleTime.Time)) {
		status.LastScheduleTime = timeOf(due)
	}
}

func (l *lastRuns) forget(cron types.UID) {
	l.lock.Lock()
	defer l.lock.Unlock()
	delete(l.at, cron)
}
