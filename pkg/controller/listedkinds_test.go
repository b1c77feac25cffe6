package controller_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"kruise.io/kruise/pkg/apis/pub"
	"kruise.io/kruise/pkg/controller"
)

func TestChangedListOfKindsTakesEffectAfterThePeriod(t *testing.T) {
	kube, clock := kubefake.NewClientset(), clocktesting.NewFakeClock(time.Unix(1e9, 0))
	listed := controller.NewListedKinds(controller.Deps{Kube: kube, Clock: clock}, "kruise-system")
	now := func() sets.Set[schema.GroupKind] {
		t.Helper()
		kinds, err := listed.Now(t.Context())
		require.NoError(t, err)
		return kinds
	}
	assert.Empty(t, now(), "no list")

	require.NoError(t, kube.Tracker().Add(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kruise-system", Name: pub.ConfigurationName},
		Data:       map[string]string{pub.PersistentPodStateWorkloadsKey: `{"workloads":[{"group":"example.com","kind":"Game"}]}`},
	}))
	clock.Step(controller.UnwatchedPeriod - time.Second)
	assert.Empty(t, now(), "it is not read again before")
	clock.Step(time.Second)
	assert.Equal(t, sets.New(schema.GroupKind{Group: "example.com", Kind: "Game"}), now())

	clock.Step(controller.UnwatchedPeriod)
	kube.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, assert.AnError
	})
	_, err := listed.Now(t.Context())
	assert.ErrorIs(t, err, assert.AnError)
}
