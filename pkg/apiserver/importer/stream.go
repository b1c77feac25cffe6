package importer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/types"
)

// End is the last line of a stream. Without it, the stream was cut off, and the missing objects would count as deleted.
type End struct {
	// End is the number of objects before this line.
	End *int `json:"end"`
}

// WriteEnd writes the last line of a stream of objects, which has one object in JSON on each line.
func WriteEnd(to io.Writer, objects int) error {
	return json.NewEncoder(to).Encode(End{End: &objects})
}

// WriteUnserved writes the only line of a stream for a store whose import or copy is incomplete. Nothing can be imported from it.
func WriteUnserved(to io.Writer) error {
	_, err := io.WriteString(to, "{\"unserved\":true}\n")
	return err
}

// ReadAll converts a stream of objects. Objects that cannot be imported are in the report, and not in the result, so
// the operator sees all refusals at once. A stream without its last line is an error and has no result.
func (c *Converter) ReadAll(ctx context.Context, from io.Reader) ([]Object, *Report, error) {
	reading := &reading{converter: c, report: &Report{}, keys: map[string]bool{}, owners: map[types.UID]string{}}
	lines := bufio.NewReaderSize(from, 1<<20)
	for {
		// A line can be longer than the buffer: ReadBytes has no limit.
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, fmt.Errorf("read the objects: %w", err)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			ended, err := reading.line(ctx, line)
			if err != nil || ended {
				return reading.objects, reading.report, err
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("the stream was cut off after %d objects: its last line is missing; send all objects again", reading.lines)
		}
	}
}

// reading is a stream that is being read.
// lines counts the objects, also refused ones.
type reading struct {
	converter *Converter
	objects   []Object
	report    *Report
	lines     int
	// keys and owners find objects that occur twice. A UID that occurs twice would give the dependents of both
	// objects to one of them.
	keys   map[string]bool
	owners map[types.UID]string
}

// line reads one line. It returns true at the end of the stream.
func (r *reading) line(ctx context.Context, line []byte) (bool, error) {
	// The check is on the text, because every other line is an object and starts with another key.
	if bytes.HasPrefix(line, []byte(`{"end":`)) {
		var end End
		if err := json.Unmarshal(line, &end); err != nil || end.End == nil {
			return false, fmt.Errorf("read the last line %q: %w", line, err)
		}
		if *end.End != r.lines {
			return false, fmt.Errorf("the stream has %d objects, but its last line says %d: send all objects again", r.lines, *end.End)
		}
		return true, nil
	}
	r.lines++
	object, err := r.converter.Convert(ctx, line)
	// The other objects are still read, so that the report names all refusals.
	if refusal, refused := errors.AsType[*Refusal](err); refused {
		r.report.refuse(refusal)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("object %d of the stream: %w", r.lines, err)
	}
	if r.keys[object.Key] {
		return false, fmt.Errorf("object %d of the stream: %s occurs twice", r.lines, object.Key)
	}
	if other, found := r.owners[object.UID]; found {
		return false, fmt.Errorf("object %d of the stream: %s has the same UID %s as %s", r.lines, object.Key, object.UID, other)
	}
	r.keys[object.Key], r.owners[object.UID] = true, object.Key
	r.report.add(&object, object.Resource)
	object.Changes = nil // All objects are in memory together, and the report has the changes.
	r.objects = append(r.objects, object)
	return false, nil
}
