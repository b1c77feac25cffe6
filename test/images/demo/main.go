package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// version is set at link time.
var version = "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Getenv("BURN_MILLICORES")); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1) //nolint:gocritic // Nothing is left to undo.
	}
}

// run serves until the context ends; requests under way are dropped.
func run(ctx context.Context, millicores string) error {
	if millicores != "" {
		share, err := strconv.Atoi(millicores)
		if err != nil || share < 0 || share > maxMillicores {
			return fmt.Errorf("BURN_MILLICORES %q: use a whole number from 0 to %d", millicores, maxMillicores)
		}
		go burn(ctx, share)
	}
	const headerTimeout = 10 * time.Second
	server := &http.Server{Addr: ":8080", Handler: newHandler(version), ReadHeaderTimeout: headerTimeout}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	}
}
