package apps

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

func TestColumnsOfImageKinds(t *testing.T) {
	gate, err := features.New("")
	require.NoError(t, err)
	for want, kind := range map[string]rest.AnyKind{
		"Name DESIRED PULLING SUCCEED FAILED AGE":      nodeImage(gate, clock.RealClock{}, nil),
		"Name TOTAL ACTIVE SUCCEED FAILED AGE MESSAGE": imagePullJob(gate),
		"Name TOTAL SUCCEEDED COMPLETED AGE":           imageListPullJob(gate),
	} {
		description := kind.Describe()
		var names []string
		for _, column := range description.Columns {
			names = append(names, column.Name)
			assert.Zero(t, column.Priority, column.Name)
		}
		assert.Equal(t, want, strings.Join(names, " "))
		assert.Empty(t, description.Short)
		assert.Empty(t, description.Categories)
	}
	assert.True(t, nodeImage(gate, clock.RealClock{}, nil).Describe().ClusterScoped)
	assert.False(t, imagePullJob(gate).Describe().ClusterScoped)
}

// Case image-predownload 40.
func TestGatesOfImageKinds(t *testing.T) {
	for name, test := range map[string]struct {
		gates           map[string]bool
		job, list, node string
	}{
		"defaults":             {},
		"KruiseDaemon off":     {map[string]bool{"KruiseDaemon": false}, "KruiseDaemon", "KruiseDaemon", "KruiseDaemon"},
		"ImagePullJobGate off": {map[string]bool{"ImagePullJobGate": false}, "ImagePullJobGate", "ImagePullJobGate", ""},
	} {
		t.Run(name, func(t *testing.T) {
			gate, err := features.New("")
			require.NoError(t, err)
			require.NoError(t, gate.SetFromMap(test.gates))
			job, _ := imagePullJob(gate).(*rest.Kind[*apps.ImagePullJob])
			list, _ := imageListPullJob(gate).(*rest.Kind[*apps.ImageListPullJob])
			node, _ := nodeImage(gate, clock.RealClock{}, nil).(*rest.Kind[*apps.NodeImage])
			assert.Equal(t, []string{test.job, test.list, test.node}, []string{job.Closed, list.Closed, node.Closed})
		})
	}
}

// TestReportsAreCheckedWithTheGivenClock has a clock that is hours ahead of the machine's.
func TestReportsAreCheckedWithTheGivenClock(t *testing.T) {
	gate, err := features.New("")
	require.NoError(t, err)
	now := time.Now().Add(5 * time.Hour)
	reported := func(at time.Time) *apps.NodeImage {
		image := &apps.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "n1", ResourceVersion: "1"}}
		image.Spec.Images = map[string]apps.ImageSpec{"nginx": {Tags: []apps.ImageTagSpec{{Tag: "1"}}}}
		image.Status.ImageStatuses = map[string]apps.ImageStatus{"nginx": {Tags: []apps.ImageTagStatus{
			{Tag: "1", StartTime: new(metav1.NewTime(at))},
		}}}
		return image
	}
	for _, each := range Kinds(gate, clocktesting.NewFakePassiveClock(now), nil, nil) {
		kind, ok := each.(*rest.Kind[*apps.NodeImage])
		if !ok {
			continue
		}
		assert.Empty(t, kind.ValidateStatus(reported(now), reported(now.Add(-time.Hour))))
		assert.Len(t, kind.ValidateStatus(reported(now.Add(2*time.Hour)), reported(now)), 1)
		return
	}
	t.Fatal("NodeImage is missing")
}
