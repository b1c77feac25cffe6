// Package fuzzer fills objects of the group apps.kruise.io with random values for tests:
// such that a server could have stored them. Enter at Funcs.
package fuzzer
