package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	address = ":7777"
	url     = "http://localhost:7777/players"
	patient = 5 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	switch {
	case len(args) == 0:
		return serve(ctx)
	case len(args) == 1 && args[0] == "idle":
		text, err := ask(ctx, http.MethodGet, url)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(text, "idle") {
			return errors.New(text)
		}
		_, err = fmt.Fprint(out, text)
		return err
	case len(args) == 2 && args[0] == "play":
		_, err := ask(ctx, http.MethodPost, url+"?count="+args[1])
		return err
	default:
		return fmt.Errorf("arguments %q: use: game, game idle, or game play N", args)
	}
}

// ask sends a request to the server and returns its answer.
func ask(ctx context.Context, method, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // It was read.
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), err
}

// game is the state of the server.
type game struct {
	mu      sync.Mutex
	players int
	since   time.Time
}

func serve(ctx context.Context) error {
	server := &http.Server{Addr: address, Handler: newHandler(&game{since: time.Now()}), ReadHeaderTimeout: patient}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

func newHandler(g *game) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /players", func(w http.ResponseWriter, _ *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.players > 0 {
			fmt.Fprintf(w, "%d players", g.players) //nolint:errcheck // The client went away.
			return
		}
		fmt.Fprintf(w, "idle for %d minutes", int(time.Since(g.since).Minutes())) //nolint:errcheck // See above.
	})
	mux.HandleFunc("POST /players", func(w http.ResponseWriter, r *http.Request) {
		count, err := strconv.Atoi(r.URL.Query().Get("count"))
		if err != nil || count < 0 {
			http.Error(w, "count: use a whole number, 0 or more", http.StatusBadRequest)
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.players, g.since = count, time.Now()
	})
	mux.HandleFunc("GET /elsewhere", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://elsewhere.invalid/")
		w.WriteHeader(http.StatusFound)
	})
	return mux
}
