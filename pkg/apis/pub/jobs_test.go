package pub_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kruise.io/kruise/pkg/apis/pub"
)

// None of these names may change either.
func TestWellKnownNamesOfJobs(t *testing.T) {
	for want, got := range map[string]string{
		"apps.kruise.io/deletion-protection":        pub.DeletionProtectionFinalizer,
		"apps.kruise.io/fake-nodeimage":             pub.FakeNodeImageKey,
		"imagepulljobs.kruise.io/source-key":        pub.ImagePullJobSourceKey,
		"imagepulljobs.kruise.io/references":        pub.ImagePullJobReferencesKey,
		"imagepulljobs.kruise.io/mode":              pub.ImagePullJobModeKey,
		"broadcastjob-name":                         pub.BroadcastJobNameKey,
		"broadcastjob-controller-uid":               pub.BroadcastJobControllerUIDKey,
		"apps.kruise.io/broadcastjob-seen-failures": pub.BroadcastJobSeenFailuresKey,
		"apps.kruise.io/scheduled-at":               pub.ScheduledAtKey,
	} {
		require.Equal(t, want, got)
	}
}
