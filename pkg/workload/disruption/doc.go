// Package disruption owns the arithmetic of PodUnavailableBudgets: which budget governs a Pod, which Pods count as
// available, how many more may go, whether a request may have one of them, and what becomes of what was granted.
//
// All functions are pure; "now" comes from the caller. Admission enters at Governing and Spend, the controller at Governing
// and Recount. Both run inside a write that succeeds only over the very budget that they read, so that whatever the order of
// grants and recounts, never more is granted than allowed.
//
// A grant is an entry in the status: the Pod's name with the time. While it stands its Pod counts as gone, whatever a cache
// shows of it. It ends when the Pod was looked at on its server and the cache shows the same.
package disruption
