package localcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// record is what a pid file says. A process is the recorded one only if its start time agrees as well:
// a number that the kernel has given to another process since is never signalled.
type record struct {
	PID int `json:"pid"`
	// Start is the process's start time in clock ticks since the machine's boot.
	Start uint64 `json:"start"`
	// Boot is the machine's boot, without which Start says nothing.
	Boot string `json:"boot"`
	// Args are how it was started: a component whose arguments have changed since is restarted.
	Args []string `json:"args"`
	// Inputs is the digest of the files that it read at its start: a component for which they have changed since is restarted.
	Inputs string `json:"inputs,omitempty"`
}

func newRecord(pid int, args []string) (record, error) {
	stat, err := readStat(pid)
	if err != nil {
		return record{}, fmt.Errorf("read the start time of process %d: %w", pid, err)
	}
	boot, err := bootID()
	return record{PID: pid, Start: stat.start, Boot: boot, Args: args}, err
}

// alive reports whether the recorded process still runs. One that has ended and was not reaped does not.
func (r record) alive() bool {
	if r.PID <= 0 {
		return false
	}
	boot, err := bootID()
	if err != nil || boot != r.Boot {
		return false
	}
	stat, err := readStat(r.PID)
	return err == nil && stat.start == r.Start && stat.running()
}

func (r record) sameArgs(args []string) bool { return slices.Equal(r.Args, args) }

// readRecord returns the zero record, which is not alive, when there is no usable file.
func readRecord(path string) (record, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read pid file: %w", err)
	}
	var r record
	if json.Unmarshal(data, &r) != nil {
		return record{}, nil //nolint:nilerr // Cut short by a crash: the process that wrote it had not gone on.
	}
	return r, nil
}

func (r record) write(path string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode pid file: %w", err)
	}
	return writeFile(path, data, 0o644)
}

func bootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(data)), err
}

// writeFile replaces a file whole, so that a crash leaves the old content or the new.
func writeFile(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // Gone when the rename succeeded.
	if _, err = tmp.Write(data); err == nil {
		err = tmp.Chmod(mode)
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
