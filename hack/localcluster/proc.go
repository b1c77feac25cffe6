package localcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processStat holds the fields of /proc/<pid>/stat that this package uses, see proc(5).
type processStat struct {
	state  byte
	parent int
	start  uint64
	// threads is the number of threads that still run.
	threads int
}

// running returns true until the last thread has ended. The first thread of a killed process may already be a zombie
// while other threads still hold ports and locks.
func (s processStat) running() bool { return s.state != 'Z' && s.state != 'X' || s.threads > 1 }

// readStat reads the state of a process. It returns an error if there is no such process.
func readStat(pid int) (processStat, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return processStat{}, err
	}
	return parseStat(string(data))
}

// parseStat reads fields 3, 4, 20 and 22. Field 2 is the process name in parentheses, which may itself contain spaces and parentheses.
func parseStat(text string) (processStat, error) {
	const stateField, parentField, threadsField, startField = 0, 1, 17, 19 // The indexes start after the name.
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= startField {
		return processStat{}, fmt.Errorf("process stat %q has too few fields", text)
	}
	parent, err := strconv.Atoi(fields[parentField])
	if err != nil {
		return processStat{}, fmt.Errorf("process stat %q: %w", text, err)
	}
	start, err := strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return processStat{}, fmt.Errorf("process stat %q: %w", text, err)
	}
	threads, err := strconv.Atoi(fields[threadsField])
	if err != nil {
		return processStat{}, fmt.Errorf("process stat %q: %w", text, err)
	}
	return processStat{state: fields[stateField][0], parent: parent, start: start, threads: threads}, nil
}

// processes returns the IDs of all processes, in ascending order.
func processes() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// commandLine returns nil for a process that has ended.
func commandLine(pid int) []string {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}
