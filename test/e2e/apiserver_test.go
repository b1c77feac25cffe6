//go:build e2e

package e2e

import (
	"context"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const system = "kruise-system"

// The arguments of kubectl that stop and start the apiserver, in the namespace of the installation. After servesAgain, kube-apiserver sends
// requests and reviews to it again.
var (
	stopsAPIServer = [][]string{
		{"scale", "deployment", "kruise-apiserver", "--replicas=0"},
		{"wait", "pod", "--for=delete", "--selector=control-plane=apiserver", "--timeout=3m"},
	}
	startsAPIServer = []string{"scale", "deployment", "kruise-apiserver", "--replicas=1"}
	servesAgain     = [][]string{
		startsAPIServer,
		{"rollout", "status", "deployment", "kruise-apiserver", "--timeout=3m"},
		{"wait", "--for=condition=Available", "apiservice", "--selector=app.kubernetes.io/name=kruise", "--timeout=3m"},
	}
)

// system runs kubectl in the namespace of the installation.
func (e *env) system(args ...string) string {
	e.t.Helper()
	return e.kubectl(append([]string{"--namespace=" + system}, args...)...)
}

// apiservers returns the Pods of the apiserver.
func (e *env) apiservers() []corev1.Pod {
	e.t.Helper()
	list, err := e.core.CoreV1().Pods(system).List(e.t.Context(), metav1.ListOptions{LabelSelector: "control-plane=apiserver"})
	require.NoError(e.t, err)
	return list.Items
}

// stopAPIServer ends the apiserver and waits until its Pod is gone. At the end of the test, the apiserver runs again.
func (e *env) stopAPIServer() {
	e.t.Helper()
	ctx := context.WithoutCancel(e.t.Context())
	e.t.Cleanup(func() {
		for _, args := range servesAgain {
			_ = e.command(ctx, append([]string{"--namespace=" + system}, args...)...).Run()
		}
	})
	for _, args := range stopsAPIServer {
		e.system(args...)
	}
}

// startAPIServer starts the apiserver again. With a lost store it does not become ready.
func (e *env) startAPIServer() {
	e.t.Helper()
	e.system(startsAPIServer...)
}

// serveAgain starts the apiserver and waits until it serves.
func (e *env) serveAgain() {
	e.t.Helper()
	for _, args := range servesAgain {
		e.system(args...)
	}
}
