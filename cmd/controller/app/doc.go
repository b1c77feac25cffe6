// Package app is the program controller: options.go turns flags into Options, config.go turns those into a Config with its
// clients, and run.go runs it. The controllers are one table in controllers.go.
package app
