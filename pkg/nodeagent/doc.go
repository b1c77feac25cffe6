// Package nodeagent contains the parts of the node agent, one package for each concern.
//
// cluster is the API client. cri finds the container runtimes of the node. server serves health checks and metrics.
// status records an event about the versions on the node. containerreporter reports on the containers of Pods.
// kubelet reads what the kubelet writes on containers. handler runs commands and requests for hooks and probes.
// containerstop stops one container. containerrestart carries out ContainerRecreateRequests. podprober runs the
// probes of PodProbeMarkers. imagepuller pulls images. credentials finds registry credentials.
//
// The packages are independent, with these exceptions: containerreporter and containerrestart use containerstop,
// which uses handler; podprober uses handler; these packages use kubelet for the containers of a Pod; imagepuller
// uses credentials, and all use cluster for API requests. agenttest runs them in tests. cmd/node-agent/app connects
// them. Enter there.
package nodeagent
