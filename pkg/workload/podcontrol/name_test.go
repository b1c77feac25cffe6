package podcontrol

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestInstanceIsReadFromNames(t *testing.T) {
	for prefix, id := range map[string]string{"web": "abcde", "web-a": "abcde", "web-0": "1", "web.b": "abcde"} {
		assert.Equal(t, id, InstanceOfPod(prefix, PodName(prefix, id)))
		assert.Equal(t, id, InstanceOfClaim(prefix, ClaimName("data", prefix, id)))
		assert.Equal(t, id, InstanceOfClaim(prefix, ClaimName("data-b", prefix, id)))
	}
	for _, pod := range []string{"", "web", "web-", "webabcde", "web-a-abcde", "other-abcde", "a-web-abcde"} {
		assert.Empty(t, InstanceOfPod("web", pod), pod)
	}
	for _, claim := range []string{"", "data", "web-abcde", "data-web-", "data-other-abcde", "data-web-a-abcde"} {
		assert.Empty(t, InstanceOfClaim("web", claim), claim)
	}
}
