// Package rest is the one registry for all Kruise kinds.
//
// A kind is a value of type Kind: names, accessors, rules, columns and, where it scales, the two
// functions that /scale needs. What every kind does alike is here and nowhere else: generations,
// the isolation of spec and status, the fields that server-side apply must forget, tables, /status,
// /scale and the size limit. It knows no kind and opens no store by itself.
// Enter at Kind.Storage.
package rest
