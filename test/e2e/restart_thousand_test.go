//go:build e2e && fault

package e2e

import "testing"

// TestThousandRestarts makes 1,000 requests on 20 Pods, 50 on each.
func TestThousandRestarts(t *testing.T) { restartLoad(t, newEnv(t), 20, 50) }
