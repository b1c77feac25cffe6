// Package workloadclient reads a workload of any kind of the table of package kinds from the server that stores it, and from no
// cache. Controllers and admission plugins share it. Enter at Clients.Get.
//
// A reader of other kinds than those of the table is Custom, for workloads of kinds that the administrator allows. An answer of
// "not found" is the server's, so it can be relied on when a request is permitted because of it.
package workloadclient
