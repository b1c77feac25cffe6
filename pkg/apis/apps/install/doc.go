// Package install prepares a server's scheme for the group apps.kruise.io: the hub, all
// versions with their defaults, and which version comes first. It also holds the
// defaulting that needs core's code, which a server runs when a user writes an object and
// never when it reads one.
//
// Clients import the versioned packages and not this one. Enter at Install.
package install
