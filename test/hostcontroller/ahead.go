package hostcontroller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// aheadVariable is by how many seconds the clock of a program of BuildWithClock is ahead.
	aheadVariable = "CLOCK_AHEAD_SECONDS"
	// timeNow is the beginning of time.Now in the sources of Go.
	timeNow = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	// aheadSource is added to the package time.
	aheadSource = `package time

import "syscall"

var aheadSeconds = func() int64 {
	text, _ := syscall.Getenv("` + aheadVariable + `")
	seconds, _ := atoi(text)
	return int64(seconds)
}()
`
)

// BuildWithClock is like Build, but the clock of the program is wrong: it is ahead by the duration of Ahead, for everything that the
// program does. It is compiled with a changed copy of Go's package time, because Linux has one clock for all processes.
func BuildWithClock(ctx context.Context, checkout, dir string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources of Go: %w", err)
	}
	sources := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	source, err := os.ReadFile(filepath.Join(sources, "time.go"))
	if err != nil {
		return "", fmt.Errorf("read the sources of Go: %w", err)
	}
	if strings.Count(string(source), timeNow) != 1 {
		return "", errors.New("time.Now of this version of Go begins in another way; adapt the constant timeNow")
	}
	files := map[string]string{
		"time.go":  strings.Replace(string(source), timeNow, timeNow+"\tsec += aheadSeconds\n", 1),
		"ahead.go": aheadSource,
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, content := range files {
		changed := filepath.Join(dir, name)
		if err := os.WriteFile(changed, []byte(content), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(sources, name)] = changed
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", err
	}
	return Build(ctx, checkout, dir, "-overlay="+file)
}

// Ahead sets the clock of a program that BuildWithClock built, before its start.
func (p *Process) Ahead(d time.Duration) {
	p.env = append(p.env, fmt.Sprintf("%s=%d", aheadVariable, int(d.Seconds())))
}
