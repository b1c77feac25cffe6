// Package ephemeralcontainers is the admission plugin EphemeralContainers. A user who creates an EphemeralJob must be allowed to add
// ephemeral containers to Pods, as for kubectl debug. The controller adds them with its own permissions, so a user could otherwise run
// any image inside the Pods of a namespace with only the permission for EphemeralJobs, which the role edit contains.
package ephemeralcontainers
