package chart

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestStartIsLongerThanItsWaits: the apiserver waits up to a minute for the store's folder and two for its certificate,
// and says why it gives up. Nobody may end it before that.
func TestStartIsLongerThanItsWaits(t *testing.T) {
	probe := pods(t, render(t))["kruise-apiserver"].Containers[0].StartupProbe
	assert.Greater(t, time.Duration(probe.PeriodSeconds*probe.FailureThreshold)*time.Second, 3*time.Minute)
}
