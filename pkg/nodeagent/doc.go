// Package nodeagent holds what the node agent is made of, one package for each concern.
//
// cri finds the container runtimes of the node, server serves health and metrics, status tells the cluster what runs on
// the node. The packages know nothing of each other; cmd/node-agent/app puts them together, so enter there.
package nodeagent
