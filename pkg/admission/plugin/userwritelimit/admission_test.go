package userwritelimit

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	clocktesting "k8s.io/utils/clock/testing"
)

func write(ctx context.Context, p *Plugin, by user.Info) error {
	return p.Validate(ctx, admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "ns", "a", schema.GroupVersionResource{}, "",
		admission.Create, nil, false, by), nil)
}

func TestUserWhoWritesTooMuchIsRefusedForASecond(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	p := New(Settings{WritesPerSecond: 2, Namespace: "kruise-system"}, clock)
	alice, bob := &user.DefaultInfo{Name: "alice"}, &user.DefaultInfo{Name: "bob"}
	require.NoError(t, write(t.Context(), p, alice))
	require.NoError(t, write(t.Context(), p, alice))
	err := write(t.Context(), p, alice)
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	seconds, suggested := apierrors.SuggestsClientDelay(err)
	assert.True(t, suggested)
	assert.Equal(t, 1, seconds)
	assert.EqualError(t, err, `user "alice" has made more than 2 writes of Kruise objects in a second: try again; `+
		"an administrator can set another limit with --user-writes-per-second")
	require.NoError(t, write(t.Context(), p, bob), "another user")

	clock.Step(500 * time.Millisecond)
	require.NoError(t, write(t.Context(), p, alice))
	require.Error(t, write(t.Context(), p, alice))
	clock.Step(time.Hour)
	require.NoError(t, write(t.Context(), p, alice))
	require.NoError(t, write(t.Context(), p, alice))
	require.Error(t, write(t.Context(), p, alice), "unused writes of earlier seconds are lost")
}

func TestPartsOfTheSystemAreNotLimited(t *testing.T) {
	for name, tc := range map[string]struct {
		user   user.DefaultInfo
		exempt bool
	}{
		"administrator":            {user.DefaultInfo{Name: "root", Groups: []string{"system:masters"}}, true},
		"garbage collector":        {user.DefaultInfo{Name: "system:serviceaccount:kube-system:generic-garbage-collector", Groups: []string{"system:serviceaccounts:kube-system"}}, true},
		"one account of all":       {user.DefaultInfo{Name: "system:kube-controller-manager"}, true},
		"controllers":              {user.DefaultInfo{Name: "system:serviceaccount:kruise-system:kruise-manager", Groups: []string{"system:serviceaccounts:kruise-system"}}, true},
		"account of a tenant":      {user.DefaultInfo{Name: "system:serviceaccount:ns:ci", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ns"}}, false},
		"user who is not known":    {user.DefaultInfo{Name: "system:anonymous"}, false},
		"user without these names": {user.DefaultInfo{Name: "alice", Groups: []string{"system:authenticated"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(Settings{WritesPerSecond: 1, Namespace: "kruise-system"}, clocktesting.NewFakeClock(time.Unix(1e9, 0)))
			require.NoError(t, write(t.Context(), p, &tc.user))
			assert.Equal(t, tc.exempt, write(t.Context(), p, &tc.user) == nil)
		})
	}
}

func TestThereIsNoLimitByDefault(t *testing.T) {
	p := New(Settings{}, clocktesting.NewFakeClock(time.Unix(1e9, 0)))
	assert.False(t, p.Handles(admission.Create))
	assert.False(t, p.Handles(admission.Update))
}

func TestDeletionsAreNotLimited(t *testing.T) {
	p := New(Settings{WritesPerSecond: 1}, clocktesting.NewFakeClock(time.Unix(1e9, 0)))
	assert.True(t, p.Handles(admission.Create))
	assert.True(t, p.Handles(admission.Update))
	assert.False(t, p.Handles(admission.Delete))
}
