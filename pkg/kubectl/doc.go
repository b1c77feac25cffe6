// Package kubectl is the plugin of kubectl for the kinds of this project. It takes kubectl's own commands, teaches them the kinds
// (package polymorphic), and adds commands that only these kinds have.
//
// A package below this one owns each command that kubectl does not have. Nothing outside of this folder and cmd/kubectl-kruise
// imports them. Enter at NewCommand.
package kubectl
