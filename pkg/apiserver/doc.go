// Package apiserver builds the aggregated apiserver from the scheme, the API groups, the object storage and the generic server.
//
// It does not know flags (cmd/apiserver/app), kinds (pkg/registry) or rules (pkg/apis). Enter at New, which reads
// from top to bottom. The table of groups is in groups.go.
package apiserver
