package rest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestDoor(t *testing.T) {
	going := newSample()
	going.DeletionTimestamp = &metav1.Time{}
	tests := map[string]struct {
		gate                   string
		old                    *sample
		createdFails, updFails bool
	}{
		"open":                            {"", newSample(), false, false},
		"closed":                          {"SomeGate", newSample(), true, true},
		"closed, for what is deleted too": {"SomeGate", going, true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := &door{resource: schema.GroupResource{Resource: "samples"}, gate: test.gate, next: &earlySizeCheck{}}
			_, err := d.beginCreate(t.Context(), newSample(), &metav1.CreateOptions{})
			requireForbidden(t, test.createdFails, err)
			_, err = d.beginUpdate(t.Context(), newSample(), test.old, &metav1.UpdateOptions{})
			requireForbidden(t, test.updFails, err)
		})
	}
}

func requireForbidden(t *testing.T, want bool, err error) {
	t.Helper()
	if !want {
		require.NoError(t, err)
		return
	}
	require.True(t, apierrors.IsForbidden(err))
	assert.ErrorContains(t, err, "feature-gate SomeGate is not enabled")
}
