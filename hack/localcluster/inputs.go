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

// inputs returns a digest of the files that a process reads at its start. It covers the version of the program (in its
// path or in the target of its link), the files of the cluster in its arguments, and its reads. Files that a component writes are
// not in its arguments; only their folders or logs are.
func (c *Cluster) inputs(p process) (string, error) {
	digest := sha256.New()
	fmt.Fprintln(digest, p.path) //nolint:errcheck // A digest takes everything.
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

// filesOf returns the regular files of the cluster that the arguments name, as --flag=<path> or alone. Log files are
// left out, because they change all the time.
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

// addFile adds the name, length and content of a file to the digest. The length separates the file from the next one.
// A missing file adds its name and the length zero.
func addFile(digest io.Writer, path string) error {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = fmt.Fprintf(digest, "%s %d\n%s", path, len(data), data)
	return err
}
