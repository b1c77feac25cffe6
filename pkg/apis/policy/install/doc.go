// Package install prepares a server's scheme for the group policy.kruise.io: the hub, all versions, and
// which version comes first. It also holds the changes that a server makes when a user writes an object,
// never when it reads one.
//
// Clients import the versioned packages and not this one. Enter at Install.
package install
