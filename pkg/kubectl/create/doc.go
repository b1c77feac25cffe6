// Package create has the subcommands of create for kinds of this project: container restarts, image pulls, and jobs from a template.
// Those whose work ends can wait for it and print its progress. Enter at Add.
package create
