// Package get has the command get all, which prints the objects of every kind of this project. Enter at NewAll.
package get
