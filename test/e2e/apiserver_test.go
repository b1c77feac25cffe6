//go:build e2e

package e2e

import (
	"context"
)

const system = "kruise-system"

// system runs kubectl in the namespace of the installation.
func (e *env) system(args ...string) string {
	e.t.Helper()
	return e.kubectl(append([]string{"--namespace=" + system}, args...)...)
}

// stopAPIServer ends the apiserver and waits until its Pod is gone. At the end of the test, the apiserver runs again.
func (e *env) stopAPIServer() {
	e.t.Helper()
	ctx := context.WithoutCancel(e.t.Context())
	e.t.Cleanup(func() {
		for _, args := range [][]string{
			{"scale", "deployment", "kruise-apiserver", "--replicas=1"}, {"rollout", "status", "deployment", "kruise-apiserver", "--timeout=3m"},
		} {
			_ = e.command(ctx, append([]string{"--namespace=" + system}, args...)...).Run()
		}
	})
	e.system("scale", "deployment", "kruise-apiserver", "--replicas=0")
	e.system("wait", "pod", "--for=delete", "--selector=control-plane=apiserver", "--timeout=3m")
}

// startAPIServer starts the apiserver again. With a lost store it does not become ready.
func (e *env) startAPIServer() {
	e.t.Helper()
	e.system("scale", "deployment", "kruise-apiserver", "--replicas=1")
}

// serveAgain starts the apiserver and waits until it is ready, and until kube-apiserver sends requests and reviews to it again.
func (e *env) serveAgain() {
	e.t.Helper()
	e.startAPIServer()
	e.system("rollout", "status", "deployment", "kruise-apiserver", "--timeout=3m")
	e.kubectl("wait", "--for=condition=Available", "apiservice", "--selector=app.kubernetes.io/name=kruise", "--timeout=3m")
}
