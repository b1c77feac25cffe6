// Package nodescope is the admission plugin that binds the writes of a node agent to its node: the
// status of the NodeImage and the NodePodProbe of that name, and of ContainerRecreateRequests for
// Pods on that node. Reads are bound by the authorizer in pkg/apiserver/authorization, which also
// refuses every other write; whose a ContainerRecreateRequest is, only this plugin can see.
package nodescope
