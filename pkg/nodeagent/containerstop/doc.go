// Package containerstop stops one running container as the kubelet would: it runs the preStop hook, respects the
// grace period and lets the caller record an event. The kubelet then starts the next instance.
//
// The caller sets how to stop the container (Manner), or the package reads that from the annotations that the kubelet
// set on the container. It does not choose which containers to stop. Enter at Stop.
package containerstop
