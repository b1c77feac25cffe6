// Package importer turns objects that another server stored, as a user reads them, into what this server stores. It keeps what the API
// sets by itself: UIDs, generations, timestamps, managed fields and statuses. So the owner references of Pods stay valid.
//
// Start reading at Converter.Convert. pkg/apiserver/operation writes the result to a store.
package importer
