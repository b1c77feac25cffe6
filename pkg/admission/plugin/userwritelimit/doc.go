// Package userwritelimit limits how many writes one user can make in a second. It protects the latency of other users from a user who
// writes as much as the machine can take: priority and fairness divides the requests that the server handles at a time, and not its cores.
package userwritelimit
