package imagetag

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

func TestLimits(t *testing.T) {
	const most = math.MaxInt32 * time.Second
	policy := func(timeout, retries int32, deadline int64) *v1beta1.ImageTagPullPolicy {
		return &v1beta1.ImageTagPullPolicy{TimeoutSeconds: &timeout, BackoffLimit: &retries, ActiveDeadlineSeconds: &deadline}
	}
	tests := map[string]struct {
		policy  *v1beta1.ImageTagPullPolicy
		want    Limits
		longest time.Duration
	}{
		"no policy":     {nil, Limits{10 * time.Minute, 3, 0}, 42 * time.Minute},
		"no limits":     {&v1beta1.ImageTagPullPolicy{}, Limits{10 * time.Minute, 3, 0}, 42 * time.Minute},
		"its own":       {policy(90, 1, 300), Limits{90 * time.Second, 1, 5 * time.Minute}, 4 * time.Minute},
		"zero":          {policy(0, 0, 0), Limits{10 * time.Minute, 0, 0}, 630 * time.Second},
		"less than 0":   {policy(-1, -1, -1), Limits{10 * time.Minute, 3, 0}, 42 * time.Minute},
		"the most ever": {policy(math.MaxInt32, math.MaxInt32, math.MaxInt64), Limits{most, math.MaxInt32, most}, most},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := LimitsOf(&v1beta1.ImageTagSpec{PullPolicy: tc.policy})
			assert.Equal(t, tc.want, got)
			assert.Equal(t, tc.longest, got.Longest(30*time.Second))
		})
	}
}
