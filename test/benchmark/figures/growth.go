package figures

import (
	"fmt"
	"math"
	"strconv"
)

// Growth is how fast a value grows: it is proportional to count^Exponent. Last is the exponent between the last two counts, where a
// constant part of the value counts least.
type Growth struct {
	Exponent float64 `json:"exponent"`
	Last     float64 `json:"last"`
}

// tolerance is how much an exponent may exceed the expected one, because measured values are noisy.
const tolerance = 0.1

// growth returns nil if fewer than two values are above zero.
func growth(points []Point) *Growth {
	var xs, ys []float64
	for _, p := range points {
		if p.Value > 0 && p.Count > 0 {
			xs, ys = append(xs, math.Log(float64(p.Count))), append(ys, math.Log(p.Value))
		}
	}
	n := len(xs)
	if n < 2 || xs[0] == xs[n-1] {
		return nil
	}
	return &Growth{Exponent: cents(slope(xs, ys)), Last: cents((ys[n-1] - ys[n-2]) / (xs[n-1] - xs[n-2]))}
}

// slope is that of the line with the least squares.
func slope(xs, ys []float64) float64 {
	var meanX, meanY, above, below float64
	for i := range xs {
		meanX, meanY = meanX+xs[i]/float64(len(xs)), meanY+ys[i]/float64(len(xs))
	}
	for i := range xs {
		above, below = above+(xs[i]-meanX)*(ys[i]-meanY), below+(xs[i]-meanX)*(xs[i]-meanX)
	}
	return above / below
}

// Verdict says how the series grows, and whether that is faster than expected.
func (s *Series) Verdict() string {
	if s.Growth == nil {
		return ""
	}
	expected, faster := 0.0, " GROWS"
	if s.Total {
		expected, faster = 1, " FASTER THAN THE COUNT"
	}
	text := fmt.Sprintf("count^%.2f, at the end count^%.2f", s.Growth.Exponent, s.Growth.Last)
	if max(s.Growth.Exponent, s.Growth.Last) > expected+tolerance {
		text += faster
	}
	return text
}

func cents(x float64) float64 { return math.Round(x*100) / 100 }

// round keeps three digits, so that the file shows no precision that a measurement does not have.
func round(x float64) float64 {
	const digits = 3
	if math.Abs(x) >= 1000 {
		return math.Round(x)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}
