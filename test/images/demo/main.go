package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
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
	if len(os.Args) == 3 && os.Args[1] == "sleep" {
		if err := rest(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "demo:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends()...)
	defer stop()
	if len(os.Args) > 1 {
		if err := logs(ctx, os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "demo:", err)
			os.Exit(1) //nolint:gocritic // Nothing is left to undo.
		}
		return
	}
	if err := run(ctx, cmp.Or(os.Getenv("ADDRESS"), ":8080"), os.Getenv("RUN_SECONDS"), os.Getenv("BURN_MILLICORES")); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// ends are the signals that end the program. One that is ignored has to be so by its own wish: as the first process of a
// container it would be ended by no signal that it does not handle, and as another one by any.
func ends() []os.Signal {
	if os.Getenv("IGNORE_SIGTERM") != "" {
		signal.Ignore(syscall.SIGTERM)
		return []os.Signal{syscall.SIGINT}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGINT}
}

// rest does nothing for some seconds.
func rest(text string) error {
	seconds, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return fmt.Errorf("seconds %q: use: demo sleep SECONDS", text)
	}
	<-time.After(time.Duration(seconds) * time.Second)
	return nil
}

// logs writes a line into a file each second, or prints the lines of a file as they come, until ctx ends.
func logs(ctx context.Context, args []string, to io.Writer) error {
	if len(args) != 2 || args[0] != "write" && args[0] != "follow" {
		return fmt.Errorf("arguments %q: use: demo sleep SECONDS, demo write FILE, or demo follow FILE", args)
	}
	file, err := os.OpenFile(args[1], os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if args[0] == "follow" {
		fmt.Fprintln(to, "agent", version, "follows", args[1], "of", cmp.Or(os.Getenv("SHOP"), "no shop")) //nolint:errcheck // Nobody reads.
	}
	for n := 1; ; n++ {
		if args[0] == "write" {
			_, err = fmt.Fprintln(file, time.Now().UTC().Format(time.RFC3339), "order", n)
		} else {
			_, err = io.Copy(to, file)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
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
