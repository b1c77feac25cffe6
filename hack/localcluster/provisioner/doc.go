// Command provisioner creates the volumes for claims of the local cluster's StorageClass. A volume is a folder of the
// machine that all nodes share. It is removed with the claim. A claim that requests more storage gets it, if its StorageClass allows
// that: of the two classes, only "standard" does.
package main
