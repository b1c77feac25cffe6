// Package fuzzer fills objects of the group policy.kruise.io with random values for tests:
// such that a server could have stored them. Enter at Funcs.
package fuzzer
