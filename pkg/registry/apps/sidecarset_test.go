package apps

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSidecarSetIsDescribed(t *testing.T) {
	row := sidecarSet()
	narrow, wide := columns(row)
	assert.Equal(t, []string{"MATCHED", "UPDATED", "READY", "AGE"}, narrow)
	assert.Empty(t, wide)
	assert.Empty(t, row.Describe().Short)
	assert.True(t, row.Describe().ClusterScoped)
}
