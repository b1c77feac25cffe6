package validation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/apps/validation"
)

func TestWarnCloneSet(t *testing.T) {
	t.Parallel()
	deadline := apps.CloneSetSpec{ProgressDeadlineSeconds: new(int32(600))}
	for name, test := range map[string]struct {
		spec apps.CloneSetSpec
		old  *apps.CloneSet
		want []string
	}{
		"nothing":           {},
		"a deadline":        {spec: deadline, want: []string{"spec.progressDeadlineSeconds: stored, but this release does not act on it"}},
		"the deadline off":  {spec: apps.CloneSetSpec{ProgressDeadlineSeconds: new(int32(2147483647))}},
		"a deadline as was": {spec: deadline, old: &apps.CloneSet{Spec: deadline}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, validation.WarnCloneSet(t.Context(), &apps.CloneSet{Spec: test.spec}, test.old))
		})
	}
}
