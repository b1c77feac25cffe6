// Package containerstop ends one running container as the kubelet would: with its hook, its grace period and an event. The
// kubelet then starts the next instance.
//
// How to end it the caller says (Manner), or the kubelet wrote into the container's annotations. It decides about no container.
// Enter at Stop.
package containerstop
