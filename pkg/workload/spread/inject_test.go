package spread

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
)

// Case workloadspread 14a.
func TestLabelsThatReleaseThePodAreNotApplied(t *testing.T) {
	before := map[string]string{"app": "web", "track": "stable"}
	for name, test := range map[string]struct {
		selector    string
		after, want map[string]string
		all         bool
	}{
		"a label is added":         {"app=web", map[string]string{"app": "web", "track": "stable", "subset": "a"}, nil, true},
		"another label changes":    {"app=web", map[string]string{"app": "web", "track": "canary"}, nil, true},
		"a selected label changes": {"app=web", map[string]string{"app": "db", "subset": "a"}, map[string]string{"app": "web", "track": "stable", "subset": "a"}, false},
		"a selected label goes":    {"app=web", nil, before, false},
		"an added label excludes":  {"app=web,!subset", map[string]string{"app": "web", "track": "stable", "subset": "a"}, before, false},
		"it was not selected":      {"app=db", map[string]string{"app": "x"}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			selector, err := labels.Parse(test.selector)
			require.NoError(t, err)
			kept, all := KeepSelected(selector, before, test.after)
			assert.Equal(t, test.all, all)
			if test.all {
				test.want = test.after
			}
			assert.Equal(t, test.want, kept)
		})
	}
}

// Nobody waits for the Pod any more.
func TestPatchDoesNotBeginAfterTheEndOfTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to := &v1beta1.WorkloadSpreadSubset{Name: "a", Patch: &runtime.RawExtension{Raw: []byte(`{"metadata":{"labels":{"a":"b"}}}`)}}
	_, err := Inject(ctx, &corev1.Pod{}, to, Matched{})
	require.ErrorIs(t, err, context.Canceled)
}
