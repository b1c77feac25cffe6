package figures

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// Print prints a row for each series: the value at each count, and how it grows.
func (f *Figures) Print(to io.Writer) error {
	var counts []int
	for _, s := range f.Series {
		for _, p := range s.Points {
			counts = append(counts, p.Count)
		}
	}
	slices.Sort(counts)
	counts = slices.Compact(counts)
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(out, f.Of+"\tunit\t")
	for _, count := range counts {
		_, _ = fmt.Fprintf(out, "%d\t", count)
	}
	_, _ = fmt.Fprintln(out, "grows as\t")
	for _, s := range f.Series {
		_, _ = fmt.Fprintf(out, "%s: %s\t%s\t", s.Chart, s.Name, s.Unit)
		for _, count := range counts {
			_, _ = fmt.Fprintf(out, "%s\t", s.at(count))
		}
		_, _ = fmt.Fprintf(out, "%s\t\n", s.Verdict())
	}
	return out.Flush()
}

// at returns the value at a count as text, or an empty text without a value.
func (s *Series) at(count int) string {
	i := slices.IndexFunc(s.Points, func(p Point) bool { return p.Count == count })
	if i < 0 {
		return ""
	}
	return strconv.FormatFloat(s.Points[i].Value, 'f', -1, 64)
}
