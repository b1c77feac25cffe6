package rest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Version v1 of the sample stores readyReplicas in metadata.
func TestStatusInMetadata(t *testing.T) {
	kind := newKind()
	kind.StatusInMetadata = func(version string, to, from *sample) {
		if version == "v1" {
			to.Status.ReadyReplicas = from.Status.ReadyReplicas
		}
	}
	for version, inMetadata := range map[string]bool{"v1": true, "v2": false} {
		t.Run(version, func(t *testing.T) {
			ctx := genericapirequest.WithRequestInfo(t.Context(), &genericapirequest.RequestInfo{APIVersion: version})
			written := func() *sample {
				obj := newSample()
				obj.Status.Replicas, obj.Status.ReadyReplicas = 50, 5
				return obj
			}
			main := kind.strategy(nil)

			created := written()
			main.PrepareForCreate(ctx, created)
			assert.Zero(t, created.Status.Replicas)
			assert.Equal(t, inMetadata, created.Status.ReadyReplicas == 5)

			updated := written()
			main.PrepareForUpdate(ctx, updated, newSample())
			assert.EqualValues(t, 3, updated.Status.Replicas)
			assert.Equal(t, inMetadata, updated.Status.ReadyReplicas == 5)

			reported := written()
			(&statusStrategy[*sample]{strategy: main}).PrepareForUpdate(ctx, reported, newSample())
			assert.EqualValues(t, 50, reported.Status.Replicas)
			assert.Equal(t, !inMetadata, reported.Status.ReadyReplicas == 5)
		})
	}
}
