// Package apiserver puts the aggregated apiserver together: the scheme, the groups it serves,
// how objects are stored, and the server itself.
//
// It does not know flags (cmd/apiserver/app does), kinds (pkg/registry) or rules (pkg/apis).
// Enter at New, which reads from top to bottom; the table of groups is in groups.go.
package apiserver
