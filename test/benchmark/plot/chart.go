package main

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	canvas "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	width, height = 28 * vg.Centimeter, 11 * vg.Centimeter
	// legendWidth is the space on the right, so that the legend covers no line.
	legendWidth = 12 * vg.Centimeter
	lineWidth   = vg.Length(1.5)
)

// draw draws the series of one chart with logarithmic axes, on which a value that grows as a power of the count is a straight line. A
// series with fewer than two values above zero is no line, and is left out.
func draw(of string, chart []series, file string) (err error) {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p, legend := plot.New(), plot.NewLegend()
	p.Title.Text = chart[0].Chart
	p.Title.Padding = vg.Millimeter
	p.X.Label.Text, p.Y.Label.Text = of, chart[0].Unit
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Add(plotter.NewGrid())
	drawn := 0
	for i, s := range chart {
		points := positive(s.Points)
		if len(points) < 2 {
			continue
		}
		drawn++
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, line.Width, line.Dashes = plotutil.Color(i), lineWidth, plotutil.Dashes(i/len(plotutil.DefaultColors))
		marks.Color, marks.Shape = plotutil.Color(i), plotutil.Shape(i)
		p.Add(line, marks)
		legend.Add(label(s), line, marks)
	}
	if drawn == 0 {
		return nil
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = countTicks(chart), valueTicks{}
	p.Y.Min, p.Y.Max = p.Y.Min/margin, p.Y.Max*margin
	legend.Top, legend.Left = true, true
	legend.Padding = vg.Millimeter
	legend.TextStyle.Font.Size = vg.Points(10)
	picture := vgsvg.New(width, height)
	whole := canvas.New(picture)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	p.Draw(canvas.Crop(whole, 0, -legendWidth, 0, 0))
	legend.Draw(canvas.Crop(whole, width-legendWidth+vg.Centimeter/2, 0, 0, -vg.Centimeter))
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := picture.WriteTo(out); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return out.Close()
}

// margin is the factor by which the axis of values extends beyond the values.
const margin = 1.3

// label names a series and how it grows.
func label(s series) string {
	if s.Growth == nil {
		return s.Name
	}
	return fmt.Sprintf("%s: count^%.2f", s.Name, s.Growth.Exponent)
}

// positive returns the points that a logarithmic axis can show.
func positive(points []point) (shown plotter.XYs) {
	for _, p := range points {
		if p.Value > 0 {
			shown = append(shown, plotter.XY{X: float64(p.Count), Y: p.Value})
		}
	}
	return shown
}

// countTicks marks the counts that were measured.
func countTicks(chart []series) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, s := range chart {
		for _, p := range s.Points {
			tick := plot.Tick{Value: float64(p.Count), Label: fmt.Sprint(p.Count)}
			if !slices.Contains(ticks, tick) {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

// valueTicks marks 1, 2 and 5 of each power of ten with their values, and the numbers between them without.
type valueTicks struct{}

// Ticks implements plot.Ticker.
func (valueTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	for power := math.Floor(math.Log10(low)); power <= math.Log10(high); power++ {
		for digit := 1.0; digit < 10; digit++ {
			value := round(digit * math.Pow(10, power))
			if value < low || value > high {
				continue
			}
			tick := plot.Tick{Value: value}
			if digit == 1 || digit == 2 || digit == 5 {
				tick.Label = strconv.FormatFloat(value, 'f', -1, 64)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// round removes what floating-point numbers add to a power of ten.
func round(value float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 1, 64), 64)
	if err != nil {
		return value
	}
	return rounded
}
