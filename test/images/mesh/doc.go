// Command mesh is the program of the images kruise.local/mesh:v1, :v2 and :empty: a proxy that a new version replaces without losing
// a connection.
//
// It serves HTTP on port 8081, or on the address in the variable ADDRESS, and answers its version. The socket in the variable
// HANDOVER connects it with the next version: that one gets the open listener, and this one answers what it has accepted and then
// does nothing. With the argument "wait", the program waits until the container serves: for a hook after the start. The version
// "empty" serves nothing.
package main
