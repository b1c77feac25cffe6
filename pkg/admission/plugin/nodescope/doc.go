// Package nodescope is an admission plugin that limits a node agent to the objects of its own node. The agent may
// write the status of the NodeImage and the NodePodProbe with the node's name, and of ContainerRecreateRequests for
// Pods on the node. The authorizer in pkg/apiserver/authorization limits reads and refuses all other writes. Only
// this plugin can see which node a ContainerRecreateRequest belongs to.
package nodescope
