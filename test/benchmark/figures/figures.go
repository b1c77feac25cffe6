package figures

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Figures are the series of one run. Of names what was counted, such as "objects".
type Figures struct {
	Of      string    `json:"of"`
	Machine string    `json:"machine"`
	Command string    `json:"command"`
	Series  []*Series `json:"series"`
}

// Series is one value at each count. Series of one chart have the same unit and are drawn together.
type Series struct {
	Chart string `json:"chart"`
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	// Total is true for a value that everything uses together, such as memory. Such a value may grow as the count does. Others, such
	// as the latency of a request, should not grow.
	Total  bool    `json:"total,omitempty"`
	Points []Point `json:"points"`
	Growth *Growth `json:"growth,omitempty"`
}

// Point is the value at one count.
type Point struct {
	Count int     `json:"count"`
	Value float64 `json:"value"`
}

// Add adds a value to the series of a chart, which it creates if it is new.
func (f *Figures) Add(chart Chart, name string, count int, value float64) {
	i := slices.IndexFunc(f.Series, func(s *Series) bool { return s.Chart == chart.Name && s.Name == name })
	if i < 0 {
		i = len(f.Series)
		f.Series = append(f.Series, &Series{Chart: chart.Name, Name: name, Unit: chart.Unit, Total: chart.Total})
	}
	s := f.Series[i]
	s.Points = append(s.Points, Point{Count: count, Value: round(value)})
	s.Growth = growth(s.Points)
}

// Chart says what the series of a chart have in common.
type Chart struct {
	Name, Unit string
	Total      bool
}

// Write writes the figures to the file <of>.json in a directory.
func (f *Figures) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(f); err != nil {
		return fmt.Errorf("encode figures of %s: %w", f.Of, err)
	}
	return os.WriteFile(filepath.Join(dir, f.Of+".json"), text.Bytes(), 0o600)
}
