package cri

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoSocket means that the run directory has no socket of a known container runtime.
var ErrNoSocket = errors.New("not found container runtime sock")

// candidates lists the sockets of the known runtimes, relative to the run directory, in order of preference.
var candidates = []string{
	"containerd.sock",
	"containerd/containerd.sock",
	"crio.sock",
	"crio/crio.sock",
	"cri-dockerd.sock",
	"cri-dockerd/cri-dockerd.sock",
}

// Sockets returns the paths of the runtime sockets below runDir, in order of preference. If socketFile is set,
// relative to runDir, only that socket is used. A socket that has two paths is returned once. Other errors are
// reported only if no socket is found.
func Sockets(runDir, socketFile string) ([]string, error) {
	names := candidates
	if socketFile != "" {
		if !filepath.IsLocal(socketFile) {
			return nil, fmt.Errorf("socket file %q: use a path relative to %s and below it", socketFile, runDir)
		}
		names = []string{socketFile}
	}
	var paths []string
	var found []fs.FileInfo
	var errs []error
	for _, name := range names {
		path := filepath.Join(runDir, name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			errs = append(errs, err)
		// A folder or file of this name is no runtime. It is reported only if no socket is found.
		case info.Mode().Type() != fs.ModeSocket:
			errs = append(errs, fmt.Errorf("%s is not a socket", path))
		// The run directory can contain links from one name to the other.
		case !contains(found, info):
			found = append(found, info)
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		looked := fmt.Errorf("%w in %s; looked for %s", ErrNoSocket, runDir, strings.Join(names, ", "))
		return nil, errors.Join(append([]error{looked}, errs...)...)
	}
	return paths, nil
}

// contains returns true if info is the same file as one that was found, by device and inode.
func contains(found []fs.FileInfo, info fs.FileInfo) bool {
	for _, other := range found {
		if os.SameFile(other, info) {
			return true
		}
	}
	return false
}
