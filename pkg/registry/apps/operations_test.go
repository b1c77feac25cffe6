package apps

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

func TestNamesAndColumnsOfOperations(t *testing.T) {
	gate, err := features.New("")
	require.NoError(t, err)
	for want, kind := range map[string]rest.AnyKind{
		"crr: Name PHASE POD NODE AGE":                            containerRecreateRequest(gate),
		"ws: Name WorkloadName WorkloadKind Adaptive:boolean Age": workloadSpread(gate, nil),
		": Name Age": persistentPodState(),
		"distributor: Name TOTAL:integer SUCCEED:integer FAILED:integer": resourceDistribution(gate),
	} {
		description := kind.Describe()
		names := []string{strings.Join(description.Short, ",") + ":"}
		for _, column := range description.Columns {
			name := column.Name
			if column.Type == "boolean" || column.Type == "integer" {
				name += ":" + column.Type
			}
			names = append(names, name)
			assert.Zero(t, column.Priority, column.Name)
		}
		assert.Equal(t, want, strings.Join(names, " "))
		assert.Empty(t, description.Categories)
		assert.False(t, description.Scales)
		assert.Equal(t, strings.HasPrefix(want, "distributor"), description.ClusterScoped)
	}
}

func TestCellsOfOperations(t *testing.T) {
	gate, err := features.New("")
	require.NoError(t, err)
	request := &apps.ContainerRecreateRequest{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{pub.ContainerRecreateRequestNodeNameKey: "n1"}},
		Spec:       apps.ContainerRecreateRequestSpec{PodName: "p"},
		Status:     apps.ContainerRecreateRequestStatus{Phase: "Pending"},
	}
	assert.Equal(t, []any{"Pending", "p", "n1"}, cellsOf(t, containerRecreateRequest(gate), request)[:3])

	spread := &apps.WorkloadSpread{Spec: apps.WorkloadSpreadSpec{
		TargetRef:        &apps.TargetReference{Kind: "Job", Name: "j"},
		ScheduleStrategy: apps.WorkloadSpreadScheduleStrategy{Type: "Adaptive"},
	}}
	assert.Equal(t, []any{"j", "Job", true}, cellsOf(t, workloadSpread(gate, nil), spread)[:3])
	assert.Equal(t, []any{"", "", false}, cellsOf(t, workloadSpread(gate, nil), &apps.WorkloadSpread{})[:3])

	distribution := &apps.ResourceDistribution{Status: apps.ResourceDistributionStatus{Desired: 3, Succeeded: 2, Failed: 1}}
	assert.Equal(t, []any{int64(3), int64(2), int64(1)}, cellsOf(t, resourceDistribution(gate), distribution))
}

func cellsOf[T rest.Object](t *testing.T, kind rest.AnyKind, object T) (values []any) {
	t.Helper()
	typed, ok := kind.(*rest.Kind[T])
	require.True(t, ok)
	for _, column := range typed.Columns {
		values = append(values, column.Value(object))
	}
	return values
}

// Case containerrecreaterequest 37.
// Case workloadspread 18.
func TestGatesOfOperations(t *testing.T) {
	for _, feature := range []string{"", "KruiseDaemon", "WorkloadSpread", "ResourceDistributionGate"} {
		gate, err := features.New("")
		require.NoError(t, err)
		if feature != "" {
			require.NoError(t, gate.SetFromMap(map[string]bool{feature: false}))
		}
		request, _ := containerRecreateRequest(gate).(*rest.Kind[*apps.ContainerRecreateRequest])
		spread, _ := workloadSpread(gate, nil).(*rest.Kind[*apps.WorkloadSpread])
		distribution, _ := resourceDistribution(gate).(*rest.Kind[*apps.ResourceDistribution])
		closed := strings.Join([]string{request.Closed, spread.Closed, distribution.Closed}, "")
		assert.Equal(t, feature, closed)
	}
}

// In v1alpha1 two parts of the status are annotations. A write to the main resource sets them, and a write to /status
// does not. In v1beta1 it is the other way round.
func TestAnnotatedStatus(t *testing.T) {
	with := func(id string) *apps.ContainerRecreateRequest {
		return &apps.ContainerRecreateRequest{Status: apps.ContainerRecreateRequestStatus{
			Phase:                   apps.ContainerRecreateRequestPhase(id),
			ContainerStatusSnapshot: []apps.ContainerRecreateRequestContainerStatus{{ContainerID: id}},
			Conditions:              []metav1.Condition{{Type: id}},
		}}
	}
	to := with("old")
	annotatedStatus("v1alpha1", to, with("new"))
	want := with("new")
	want.Status.Phase = "old"
	assert.Equal(t, want, to)
	annotatedStatus("v1beta1", to, with("newer"))
	assert.Equal(t, want, to)
}
