package apps

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSidecarSetIsDescribed(t *testing.T) {
	kind := sidecarSet()
	narrow, wide := columns(kind)
	assert.Equal(t, []string{"MATCHED", "UPDATED", "READY", "AGE"}, narrow)
	assert.Empty(t, wide)
	assert.Empty(t, kind.Describe().Short)
	assert.True(t, kind.Describe().ClusterScoped)
}
