// Command provisioner creates the volumes for claims of the local cluster's StorageClass. A volume is a folder of the
// machine that all nodes share. It is removed with the claim.
package main
