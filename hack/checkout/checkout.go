// Package checkout is what the commands for a checkout of this repository have in common: they end on SIGTERM and SIGINT, and find
// the checkout from any folder in it. Enter at Main.
package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// Main calls run with the root of the checkout and the arguments of the command. It prints the error of run and ends the program.
func Main(run func(ctx context.Context, root string, args []string) error) {
	main := context.Background() //nolint:forbidigo // This is the main function of each command.
	ctx, stop := signal.NotifyContext(main, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	root, err := Root()
	if err == nil {
		err = run(ctx, root, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1) //nolint:gocritic // Nothing is left to undo.
	}
}

// Root returns the nearest parent folder that contains a go.mod. So a command works from any folder of the checkout.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the checkout: run this inside it, no folder upwards holds a go.mod")
		}
		dir = parent
	}
}
