// Package recovery turns panics into errors where one object must not stop the work on all others. Enter at Into.
package recovery

import (
	"fmt"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// Into sets the error if the function that defers it panics, and logs the stack. Call it as defer recovery.Into(logger, &err).
func Into(logger klog.Logger, err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("panic: %v", cause)
		logger.Error(*err, "Recovered from a panic, please report it", "stack", string(debug.Stack()))
	}
}
