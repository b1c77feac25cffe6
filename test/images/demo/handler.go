package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	maxSeconds    = 600
	maxMillicores = 1000
)

func newHandler(version string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, version) //nolint:errcheck // The client went away.
	})
	mux.HandleFunc("GET /burn", serveBurn)
	return mux
}

func serveBurn(w http.ResponseWriter, r *http.Request) {
	seconds, err := number(r, "seconds", maxSeconds)
	if err == nil {
		var millicores int
		if millicores, err = number(r, "millicores", maxMillicores); err == nil {
			ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds)*time.Second)
			defer cancel()
			burn(ctx, millicores)
			fmt.Fprintf(w, "burnt %d millicores for %d seconds\n", millicores, seconds) //nolint:errcheck // The client went away.
			return
		}
	}
	http.Error(w, err.Error(), http.StatusBadRequest)
}

func number(r *http.Request, name string, limit int) (int, error) {
	text := r.URL.Query().Get(name)
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 || value > limit {
		return 0, fmt.Errorf("%s %q: use a whole number from 1 to %d", name, text, limit)
	}
	return value, nil
}

// burn keeps one core busy for the share of each slice that millicores asks for, until the context ends.
func burn(ctx context.Context, millicores int) {
	const slice = 100 * time.Millisecond
	busy := slice * time.Duration(millicores) / maxMillicores
	ticker := time.NewTicker(slice)
	defer ticker.Stop()
	for {
		for began := time.Now(); time.Since(began) < busy; { // Spinning is its purpose.
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
