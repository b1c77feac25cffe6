// Package sidecarset admits a SidecarSet by what stands beside it: the other SidecarSets, with which
// it may clash in a Pod, its stored revisions, the base of a canary, and the annotations of Pods
// that an administrator allows.
//
// Everything is read live, and only when an update changes what is judged: SidecarSets are few and
// seldom written, and an index in a cache would know yesterday's. What the SidecarSet says alone is
// validation's business. Enter at Register.
package sidecarset
