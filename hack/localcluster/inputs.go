package localcluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// inputs is a digest of what a process reads at its start: its program's version, which the program's link names, the files of the
// cluster that its arguments name, and its reads. What a component writes itself is no file of an argument, but a folder or a log.
func (c *Cluster) inputs(p process) (string, error) {
	digest := sha256.New()
	if version, err := os.Readlink(p.path); err == nil {
		fmt.Fprintln(digest, version) //nolint:errcheck // A digest takes everything.
	}
	for _, path := range append(c.filesOf(p.args), p.reads...) {
		if err := addFile(digest, path); err != nil {
			return "", fmt.Errorf("compare what %s reads: %w", p.name, err)
		}
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// filesOf are the regular files of the cluster that arguments name, as --flag=<path> or alone.
func (c *Cluster) filesOf(args []string) []string {
	var files []string
	for _, arg := range args {
		path := arg
		if strings.HasPrefix(arg, "-") {
			_, path, _ = strings.Cut(arg, "=")
		}
		if !strings.HasPrefix(path, c.cfg.Dir+"/") || filepath.Dir(path) == c.cfg.LogDir {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
	}
	return files
}

// addFile adds a file's name and content, whose length keeps one file apart from the next. A file that is missing adds its name.
func addFile(digest io.Writer, path string) error {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = fmt.Fprintf(digest, "%s %d\n%s", path, len(data), data)
	return err
}
