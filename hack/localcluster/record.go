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

// record is the content of a pid file. A running process is the recorded one only if its start time also matches. So
// a process that later got the same process ID is never signalled.
type record struct {
	PID int `json:"pid"`
	// Start is the start time of the process in clock ticks since the boot of the machine.
	Start uint64 `json:"start"`
	// Boot is the ID of the boot that Start refers to.
	Boot string `json:"boot"`
	// Args are the arguments at the start. A component is restarted if its arguments change.
	Args []string `json:"args"`
	// Inputs is the digest of the files that the process read at its start. A component is restarted if they change.
	Inputs string `json:"inputs,omitempty"`
}

// newRecord returns the record of a running process. It fails if the process has ended.
func newRecord(pid int, args []string) (record, error) {
	stat, err := readStat(pid)
	if err != nil {
		return record{}, fmt.Errorf("read the start time of process %d: %w", pid, err)
	}
	boot, err := bootID()
	return record{PID: pid, Start: stat.start, Boot: boot, Args: args}, err
}

// alive returns true if the recorded process still runs. A process that has ended but was not reaped does not count as running.
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

// sameArgs returns true if the process was started with the arguments.
func (r record) sameArgs(args []string) bool { return slices.Equal(r.Args, args) }

// readRecord returns the zero record if there is no valid file. The zero record is not alive.
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

// write stores the record at once or not at all.
func (r record) write(path string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode pid file: %w", err)
	}
	return writeFile(path, data, 0o644)
}

// bootID returns the ID of the current boot. Process IDs, start times and device indexes start again with each boot.
func bootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(data)), err
}

// writeFile replaces a file atomically. After a crash the file has either the old or the new content.
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
