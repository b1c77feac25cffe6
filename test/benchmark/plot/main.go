package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// figures is what package figures of the benchmark writes. That package says what the fields mean.
type figures struct {
	Of     string
	Series []series
}

type series struct {
	Chart, Name, Unit string
	Total             bool
	Points            []point
	Growth            *struct{ Exponent, Last float64 }
}

type point struct {
	Count int
	Value float64
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: plot DIRECTORY, the one with the figures")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no figures: run the parts about growth of the benchmark", dir)
	}
	for _, file := range files {
		if err := drawFile(file); err != nil {
			return fmt.Errorf("draw %s: %w", file, err)
		}
	}
	return nil
}

// drawFile draws each chart of a file beside it.
func drawFile(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var f figures
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	var failures []error
	for len(f.Series) > 0 {
		name := f.Series[0].Chart
		var chart, others []series
		for _, s := range f.Series {
			if s.Chart == name {
				chart = append(chart, s)
			} else {
				others = append(others, s)
			}
		}
		target := filepath.Join(filepath.Dir(file), f.Of+"-"+strings.ReplaceAll(name, " ", "-")+".svg")
		failures, f.Series = append(failures, draw(f.Of, chart, target)), others
	}
	return errors.Join(failures...)
}
