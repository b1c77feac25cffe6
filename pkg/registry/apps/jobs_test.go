package apps

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/features"
	"kruise.io/kruise/pkg/registry/rest"
)

// Case broadcastjob 1.
func TestColumnsOfJobs(t *testing.T) {
	gate, err := features.New("")
	require.NoError(t, err)
	for want, kind := range map[string]rest.AnyKind{
		"bcj: Name Desired Active Succeeded Failed AGE": broadcastJob(gate),
		"acj: Name Schedule Type LastScheduleTime AGE":  advancedCronJob(gate),
	} {
		description := kind.Describe()
		var names []string
		for _, column := range description.Columns {
			names = append(names, column.Name)
			assert.Zero(t, column.Priority, column.Name)
		}
		assert.Equal(t, want, strings.Join(description.Short, ",")+": "+strings.Join(names, " "))
		assert.Empty(t, description.Categories)
	}
}

func TestColumnOfATime(t *testing.T) {
	gate, err := features.New("")
	require.NoError(t, err)
	kind, ok := advancedCronJob(gate).(*rest.Kind[*apps.AdvancedCronJob])
	require.True(t, ok)
	job := &apps.AdvancedCronJob{}
	assert.Nil(t, kind.Columns[2].Value(job))
	job.Status.LastScheduleTime = new(metav1.NewTime(time.Now().Add(-3 * time.Hour)))
	assert.Equal(t, "3h", kind.Columns[2].Value(job))
}

// TestJobsEndWhereTemplatesAreNotDefaulted enables the feature gate that turns off the defaulting of templates.
func TestJobsEndWhereTemplatesAreNotDefaulted(t *testing.T) {
	for _, off := range []bool{false, true} {
		gate, err := features.New("")
		require.NoError(t, err)
		require.NoError(t, gate.SetFromMap(map[string]bool{string(features.TemplateNoDefaults): off}))
		kind, ok := broadcastJob(gate).(*rest.Kind[*apps.BroadcastJob])
		require.True(t, ok)
		job := &apps.BroadcastJob{}
		kind.Default(job, nil)
		assert.Equal(t, corev1.RestartPolicyOnFailure, job.Spec.Template.Spec.RestartPolicy)
		assert.Equal(t, off, job.Spec.Template.Spec.DNSPolicy == "")
	}
}
