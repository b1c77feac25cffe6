package cloneset

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/controller"
	"kruise.io/kruise/pkg/controller/controllertest"
	"kruise.io/kruise/pkg/workload/lifecycle"
)

// The message of a failure names another Pod at each attempt. If each message were written to the status, each write would
// trigger the next attempt at once.
func TestPersistentFailureIsReportedOnce(t *testing.T) {
	w := newWorld(t, "", newSet(5))
	w.Kube.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(pods, nameOf(action), errors.New("exceeded quota"))
	})
	statusWrites := func() (writes []string) {
		t.Helper()
		w.Observe()
		_, err := w.reconcile("web")
		require.ErrorContains(t, err, "exceeded quota")
		for _, write := range w.Writes() {
			if strings.Contains(write, "status") {
				writes = append(writes, write)
			}
		}
		return writes
	}
	assert.Len(t, statusWrites(), 1)
	assert.Empty(t, statusWrites())
	first := w.set().Status.Conditions[0]

	w.Clock.SetTime(controllertest.Now.Add(controller.RewordAfter))
	assert.Len(t, statusWrites(), 1, "what it says now is told in time")
	later := w.set().Status.Conditions[0]
	assert.NotEqual(t, first.Message, later.Message)
	assert.Equal(t, first.LastTransitionTime, later.LastTransitionTime)
	assert.NotEqual(t, first.LastUpdateTime, later.LastUpdateTime)
}

func nameOf(action clienttesting.Action) string {
	if create, ok := action.(clienttesting.CreateAction); ok {
		if object, ok := create.GetObject().(metav1.Object); ok {
			return object.GetName()
		}
	}
	return ""
}

func TestConditionsStaySmall(t *testing.T) {
	conditions := failure(nil, v1beta1.CloneSetConditionFailedScale, errors.New(strings.Repeat("é", 100000)), metav1.NewTime(time.Time{}))
	assert.Less(t, len(conditions[0].Message), 1100)
	assert.Contains(t, conditions[0].Message, "bytes more")
}

// Clients that wait for the generation find the first Pods of the new template chosen, and surplus Pods deleted.
func TestGenerationIsObservedByAWholePass(t *testing.T) {
	w := newWorld(t, "", newSet(3))
	w.settle()
	w.edit(func(s *v1beta1.CloneSetSpec) {
		s.Replicas, s.Template.Spec.Containers[0].Image = new(int32(4)), "app:2"
	})
	require.Equal(t, int64(1), w.set().Status.ObservedGeneration)
	chosen := func() (n int) {
		for _, pod := range w.Pods() {
			n += one(lifecycle.SpecifiedDelete(pod))
		}
		return n
	}
	w.step()
	assert.Equal(t, 4, len(w.Pods()))
	assert.Equal(t, int64(1), w.set().Status.ObservedGeneration, "only the missing Pod was created")
	for passes := 0; w.set().Status.ObservedGeneration == 1; passes++ {
		require.Less(t, passes, 10)
		require.Zero(t, chosen())
		w.kubelet()
		w.step()
	}
	assert.Equal(t, 1, chosen())
}
