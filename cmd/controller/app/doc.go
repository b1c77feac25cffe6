// Package app builds the program controller. options.go converts flags to Options, config.go converts those to a
// Config with clients, and run.go runs it. The table of controllers is in controllers.go.
package app
