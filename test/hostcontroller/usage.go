package hostcontroller

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Metrics is the text that a process answers at /metrics.
type Metrics string

// Sum adds up the values of a metric over all of its series that have these labels, each written as name="value".
func (m Metrics) Sum(name string, labels ...string) (total float64) {
	lines := bufio.NewScanner(strings.NewReader(string(m)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		series, text, found := cutLast(lines.Text(), " ")
		if !found || series != name && !strings.HasPrefix(series, name+"{") || !hasAll(series, labels) {
			continue
		}
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			total += value
		}
	}
	return total
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

func hasAll(series string, labels []string) bool {
	for _, label := range labels {
		if !strings.Contains(series, label) {
			return false
		}
	}
	return true
}

// PeakMemory is the most memory in bytes that a process ever had resident.
func PeakMemory(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, "VmHWM:"); found {
			kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
			}
			return kilobytes << 10, nil
		}
	}
	return 0, fmt.Errorf("read the memory of process %d: it has no VmHWM", pid)
}

// CPU is how many seconds of CPU a process has used.
func CPU(pid int) (float64, error) {
	const ticksPerSecond, userTicks, systemTicks = 100, 11, 12 // The fields after the name, which may contain spaces.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	_, rest, found := cutLast(string(stat), ")")
	fields := strings.Fields(rest)
	if !found || len(fields) <= systemTicks {
		return 0, fmt.Errorf("read the CPU time of process %d: /proc/%d/stat is %q", pid, pid, stat)
	}
	ticks := 0.0
	for _, field := range []string{fields[userTicks], fields[systemTicks]} {
		value, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
		}
		ticks += value
	}
	return ticks / ticksPerSecond, nil
}
