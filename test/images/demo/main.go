package main

import (
	"cmp"
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
	if err := run(ctx, cmp.Or(os.Getenv("ADDRESS"), ":8080"), os.Getenv("RUN_SECONDS"), os.Getenv("BURN_MILLICORES")); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1) //nolint:gocritic // Nothing is left to undo.
	}
}

// lifetime is how long the text says to run, in seconds. An empty one sets no limit.
func lifetime(seconds string) (time.Duration, error) {
	const forever = 1<<63 - 1
	if seconds == "" {
		return forever, nil
	}
	limit, err := strconv.ParseInt(seconds, 10, 32)
	if err != nil || limit < 1 {
		return 0, fmt.Errorf("RUN_SECONDS %q: use a whole number, 1 or more", seconds)
	}
	return time.Duration(limit) * time.Second, nil
}

// run serves until the context or its time ends; requests under way are dropped.
func run(ctx context.Context, address, seconds, millicores string) error {
	limit, err := lifetime(seconds)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	if millicores != "" {
		share, err := strconv.Atoi(millicores)
		if err != nil || share < 0 || share > maxMillicores {
			return fmt.Errorf("BURN_MILLICORES %q: use a whole number from 0 to %d", millicores, maxMillicores)
		}
		go burn(ctx, share)
	}
	const headerTimeout = 10 * time.Second
	server := &http.Server{Addr: address, Handler: newHandler(version), ReadHeaderTimeout: headerTimeout}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	}
}
