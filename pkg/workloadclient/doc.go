// Package workloadclient reads a workload of any kind of the table of package kinds from the server that stores it, and from no
// cache. Controllers and admission plugins share it. Enter at Clients.Get.
package workloadclient
