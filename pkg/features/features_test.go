package features

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/featuregate"
)

// Case feature-gates 1.
func TestDefaultsAreThoseOfTheTable(t *testing.T) {
	gate, err := New("")
	require.NoError(t, err)
	on := map[featuregate.Feature]bool{
		PodWebhook: true, KruiseDaemon: true, DaemonWatchingPod: true, ResourcesDeletionProtection: true, WorkloadSpread: true,
		PodUnavailableBudgetDeleteGate: true, InPlaceUpdateEnvFromMetadata: true, StatefulSetAutoDeletePVC: true,
		PodProbeMarkerGate: true, ImagePullJobGate: true, ResourceDistributionGate: true,
		DeletionProtectionForCRDCascadingGate: true, PodIndexLabel: true, ForceDeleteTimeoutExpectationGate: true,
	}
	for _, g := range gates {
		assert.Equal(t, on[g.name], gate.Enabled(g.name), g.name)
	}
	changes, err := Cascade(gate)
	require.NoError(t, err)
	assert.Empty(t, changes, "the defaults contradict each other nowhere")
}

// Cases feature-gates 2, 3, 4, 5, 6, 7, 8, 9, 10.
func TestParsing(t *testing.T) {
	tests := map[string]struct {
		flag, legacy string
		want         map[featuregate.Feature]bool
		forced       []Forced
		err          string
	}{
		"without PodWebhook what needs it is off": {
			flag: "PodWebhook=false,PodUnavailableBudgetDeleteGate=true",
			want: map[featuregate.Feature]bool{PodUnavailableBudgetDeleteGate: false, WorkloadSpread: false},
			forced: []Forced{
				{PodUnavailableBudgetDeleteGate, false, PodWebhook, false}, {WorkloadSpread, false, PodWebhook, false},
			},
		},
		"without KruiseDaemon what needs it is off": {
			flag: "KruiseDaemon=false",
			want: map[featuregate.Feature]bool{DaemonWatchingPod: false, InPlaceUpdateEnvFromMetadata: false, PodProbeMarkerGate: false},
			forced: []Forced{
				{DaemonWatchingPod, false, KruiseDaemon, false}, {InPlaceUpdateEnvFromMetadata, false, KruiseDaemon, false},
				{PodProbeMarkerGate, false, KruiseDaemon, false}, {ImagePullJobGate, false, KruiseDaemon, false},
			},
		},
		"pulling ahead needs pull jobs": {
			flag:   "PreDownloadImageForInPlaceUpdate=true,ImagePullJobGate=false",
			want:   map[featuregate.Feature]bool{ImagePullJobGate: true},
			forced: []Forced{{ImagePullJobGate, true, PreDownloadImageForInPlaceUpdate, true}},
		},
		"without KruiseDaemon nothing is pulled ahead": {
			flag: "KruiseDaemon=false,PreDownloadImageForInPlaceUpdate=true,DaemonWatchingPod=false,InPlaceUpdateEnvFromMetadata=false,PodProbeMarkerGate=false",
			want: map[featuregate.Feature]bool{ImagePullJobGate: false, PreDownloadImageForInPlaceUpdate: false},
			forced: []Forced{
				{PreDownloadImageForInPlaceUpdate, false, KruiseDaemon, false}, {ImagePullJobGate, false, KruiseDaemon, false},
			},
		},
		"without deletion protection none of definitions": {
			flag:   "ResourcesDeletionProtection=false,DeletionProtectionForCRDCascadingGate=true",
			want:   map[featuregate.Feature]bool{DeletionProtectionForCRDCascadingGate: false},
			forced: []Forced{{DeletionProtectionForCRDCascadingGate, false, ResourcesDeletionProtection, false}},
		},
		"unknown gate":             {flag: "NoSuchGate=true", err: "NoSuchGate"},
		"one gate of a group":      {flag: "AllAlpha=true,CloneSetShortHash=false", want: map[featuregate.Feature]bool{CloneSetShortHash: false, SidecarTerminator: true}},
		"name of the old constant": {flag: "EnhancedLivenessProbeGate=true", err: "EnhancedLivenessProbeGate"},
		"its own name":             {flag: "EnhancedLivenessProbe=true", want: map[featuregate.Feature]bool{EnhancedLivenessProbe: true}},
		"named kinds leave PodWebhook off": {
			legacy: "CloneSet", flag: "WorkloadSpread=false,PodUnavailableBudgetDeleteGate=false",
			want: map[featuregate.Feature]bool{PodWebhook: false},
		},
		"a flag wins":     {legacy: "CloneSet", flag: "PodWebhook=true", want: map[featuregate.Feature]bool{PodWebhook: true}},
		"with SidecarSet": {legacy: "CloneSet,SidecarSet", want: map[featuregate.Feature]bool{PodWebhook: true}},
		"with spaces":     {legacy: "CloneSet, SidecarSet ", want: map[featuregate.Feature]bool{PodWebhook: true}},
		"spaces only":     {legacy: " ", want: map[featuregate.Feature]bool{PodWebhook: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			gate, err := New(tc.legacy)
			require.NoError(t, err)
			err = gate.Set(tc.flag)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			forced, err := Cascade(gate)
			require.NoError(t, err)
			assert.Equal(t, tc.forced, forced)
			for feature, want := range tc.want {
				assert.Equal(t, want, gate.Enabled(feature), feature)
			}
		})
	}
}

func TestIgnoredNamesGatesWithoutEffect(t *testing.T) {
	gate, err := New("")
	require.NoError(t, err)
	assert.Empty(t, Ignored(gate))
	require.NoError(t, gate.Set("AllAlpha=true"))
	assert.Equal(t, []string{"EnhancedLivenessProbe", "EnableExternalCerts"}, Ignored(gate))
}

// TestGuideListsTheGates compares the table for users with that of the programs.
func TestGuideListsTheGates(t *testing.T) {
	page, err := os.ReadFile("../../docs/user/feature-gates.md")
	require.NoError(t, err)
	for _, g := range gates {
		state := map[bool]string{true: "on", false: "off"}[g.on]
		assert.Contains(t, string(page), fmt.Sprintf("| `%s` | %s | ", g.name, state))
	}
	assert.Equal(t, len(gates), strings.Count(string(page), "\n| `"), "and no others")
}
