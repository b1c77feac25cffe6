package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// pages is the folder of the contract, relative to the checkout.
const pages = "docs/contract"

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run rewrites every page of the checkout, and returns an error for invalid comments. It writes the pages even if
// there are problems, so that the author sees all changes.
func run(root string) error {
	tests, problems, err := readTests(root)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, pages, "*.md"))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		filled, found := fill(string(content), pageOf(file), tests)
		problems = append(problems, found...)
		if err := os.WriteFile(file, []byte(filled), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(append(problems, unknown(root, files, tests)...)...)
}
