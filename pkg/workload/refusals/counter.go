package refusals

import (
	"sync"

	"k8s.io/component-base/metrics"
)

const (
	// mostSeries limits how many pairs of an object and a user have a series of their own.
	mostSeries = 1000
	// other is the label value of what has no series of its own.
	other = "other"
)

// Counter counts refusals by object and user.
type Counter struct {
	*metrics.CounterVec
	// lock guards series, which has the pairs with a series of their own.
	lock   sync.Mutex
	series map[[2]string]bool
}

// NewCounter returns a counter that is not registered yet. objectLabel is the name of the label for the object.
func NewCounter(name, help, objectLabel string) *Counter {
	return &Counter{
		CounterVec: metrics.NewCounterVec(
			&metrics.CounterOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA}, []string{objectLabel, "username"}),
		series: map[[2]string]bool{},
	}
}

// Count counts one refusal. Once there are mostSeries series, refusals of new pairs are counted together as "other". Users
// choose both names, so the number of pairs has no other limit.
func (c *Counter) Count(object, user string) {
	object, user = c.labels(object, user)
	c.WithLabelValues(object, user).Inc()
}

// labels returns the label values for a pair, and reserves a series for a new pair.
func (c *Counter) labels(object, user string) (objectLabel, userLabel string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	pair := [2]string{object, user}
	if !c.series[pair] && len(c.series) >= mostSeries {
		return other, other
	}
	c.series[pair] = true
	return object, user
}
