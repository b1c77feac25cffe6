package protectionlog

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/klog/v2"
)

// Values of Entry.Event.
const (
	DeletionProtection   = "DeletionProtection"
	PodUnavailableBudget = "PodUnavailableBudget"
)

// StandardOutput is the directory name that selects standard output.
const StandardOutput = "-"

// Entry is one refusal. The field names are those in the file, so they must not change.
type Entry struct {
	Event     string
	Kind      string
	Namespace string
	Name      string
	// UserAgent is the name of the user whose request was refused. Tools expect this field name.
	UserAgent string
}

// Log writes entries. It is safe for concurrent use.
// mutex guards out, so lines of concurrent requests do not mix.
type Log struct {
	mutex sync.Mutex
	out   io.Writer
}

// New returns a log that writes to out.
func New(out io.Writer) *Log { return &Log{out: out} }

// Open returns a log that appends to directory/protection.log. If the file cannot be opened, it returns a log on
// standard output, because refusals must not fail. The file stays open as long as the program runs.
func Open(ctx context.Context, directory string) *Log {
	if directory == StandardOutput {
		return New(os.Stdout)
	}
	path := filepath.Join(directory, "protection.log")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644) //nolint:gosec // users' tools read it
	if err != nil {
		klog.FromContext(ctx).Info("Cannot open the protection log file, logging refusals to standard "+
			"output", "path", path, "reason", err.Error())
		return New(os.Stdout)
	}
	return New(file)
}

// Write appends an entry. A failed write is logged and not returned: the refusal stands without its record.
func (l *Log) Write(ctx context.Context, entry Entry) {
	line, err := json.Marshal(entry)
	if err == nil {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		_, err = l.out.Write(append(line, '\n'))
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to log a refusal", "event", entry.Event, "kind", entry.Kind,
			"object", klog.KRef(entry.Namespace, entry.Name))
	}
}
