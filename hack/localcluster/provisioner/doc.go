// Command provisioner gives claims of the local cluster's StorageClass their volumes: folders of the machine that all nodes share,
// removed with the claim.
package main
