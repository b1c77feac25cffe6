// Package nodeagent holds what the node agent is made of, one package for each concern.
//
// cluster is the client of the API, cri finds the container runtimes of the node, server serves health and metrics, status tells
// the cluster what runs on the node, containermeta reports on the containers of our Pods, containerstop ends one, imagepull pulls
// images, credentials finds what a registry may accept. They know nothing of each other, except that containermeta uses containerstop and
// imagepull uses credentials, and that all reach the API by cluster; cmd/node-agent/app puts them together, so enter there.
package nodeagent
