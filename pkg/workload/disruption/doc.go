// Package disruption owns the arithmetic of PodUnavailableBudgets: which budget governs a Pod, which Pods count as available,
// how many more disruptions are allowed, whether a request is granted, and when a grant ends.
//
// All functions are pure; the caller passes the current time. Admission enters at Governing and Spend. The controller enters at
// Governing and Recount. Both write their result only if the budget is unchanged since they read it. Therefore the grants never
// exceed what is allowed, in whatever order grants and recounts happen.
//
// A grant is an entry in the budget's status: the name of the Pod and the time. While a grant stands, its Pod counts as
// unavailable, whatever a cache shows. A grant ends when the Pod has been read from the API server and the cache shows the same
// version.
package disruption
