// Package sidecarset checks a SidecarSet against other objects: the other SidecarSets, which may conflict in a Pod,
// its stored revisions, the base of a canary, and the administrator's list of allowed Pod annotations.
//
// The package reads everything live, and only if an update changes what it checks. SidecarSets are few and rarely
// written, and a cache may be stale. Validation checks the SidecarSet itself. Enter at Register.
package sidecarset
