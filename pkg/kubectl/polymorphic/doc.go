// Package polymorphic teaches the commands of kubectl the kinds of this project. kubectl asks functions in variables of its package
// polymorphichelpers what to do with an object. Install replaces each of them by one that answers for the kinds in the table of
// package workload, and asks kubectl's own function about any other kind.
//
// Enter at Install.
package polymorphic
