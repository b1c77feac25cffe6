// Package install prepares a server's scheme for the group apps.kruise.io: the hub, all versions with
// their defaults, and which version comes first. It also contains the defaulting that needs code of core.
// A server runs it when a user writes an object, never when it reads one.
//
// Clients import the versioned packages and not this one. Enter at Install.
package install
