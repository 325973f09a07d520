// Package plot draws diagrams as SVG.
package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Point is a point in a plot's units.
type Point struct{ X, Y float64 }

// Series is a line through points.
type Series struct {
	Name   string
	Points []Point
}

// Plot is a diagram. With Log, both axes are logarithmic, so that a power of the size is a straight line. Otherwise
// both begin at 0.
type Plot struct {
	Title, X, Y string
	Log         bool
	Series      []Series
}

// Measures of the drawing, in pixels.
const (
	width, height            = 720, 440
	left, right, top, bottom = 70, 20, 60, 50
)

// colours tell the series apart, also for colour-blind people (Okabe and Ito's).
var colours = []string{"#0072b2", "#d55e00", "#009e73"}

// SVG draws plots, in rows of the given number.
func SVG(columns int, plots ...Plot) string {
	columns = min(columns, len(plots))
	rows := (len(plots) + columns - 1) / columns
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+
		"\n"+`<rect width="%[1]d" height="%[2]d" fill="#fff"/>`, columns*width, rows*height)
	for i, p := range plots {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`, i%columns*width, i/columns*height)
		p.draw(&b)
		b.WriteString("</g>\n")
	}
	return b.String() + "</svg>\n"
}

// axis maps values to positions between from and to.
type axis struct {
	log       bool
	low, high float64 // of the scaled values
	step      float64 // between ticks, scaled
	from, to  float64 // pixels
}

func (a axis) scale(value float64) float64 {
	if a.log {
		return math.Log10(value)
	}
	return value
}

func (a axis) at(scaled float64) float64 { return a.from + (a.to-a.from)*(scaled-a.low)/(a.high-a.low) }

func (a axis) label(scaled float64) string {
	switch {
	case !a.log:
		return fmt.Sprintf("%.6g", scaled)
	case scaled >= -2 && scaled <= 3:
		return fmt.Sprintf("%g", math.Pow(10, scaled))
	}
	return fmt.Sprintf(`10<tspan dy="-5" font-size="9">%.0f</tspan>`, scaled)
}

// axis returns an axis around the values that get reads from the points.
func (p Plot) axis(get func(Point) float64, from, to float64) axis {
	a := axis{log: p.Log, step: 1, from: from, to: to}
	if p.Log {
		a.low, a.high = math.Inf(1), math.Inf(-1)
	}
	for _, s := range p.Series {
		for _, q := range s.Points {
			a.low, a.high = min(a.low, a.scale(get(q))), max(a.high, a.scale(get(q)))
		}
	}
	switch {
	case a.low > a.high: // a logarithmic plot without points
		a.low, a.high = 0, 1
	case !p.Log:
		a.step = step(a.high)
	}
	a.low, a.high = a.step*math.Floor(a.low/a.step), a.step*math.Ceil(a.high/a.step)
	a.high = max(a.high, a.low+a.step)
	return a
}

// step returns a round distance that divides [0, high] into at most eight parts.
func step(high float64) float64 {
	if high <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(high))-1)
	for _, factor := range []float64{1, 2, 5, 10, 20} {
		if high <= 8*factor*unit {
			return factor * unit
		}
	}
	return 50 * unit
}

func (p Plot) draw(b *strings.Builder) {
	x := p.axis(func(q Point) float64 { return q.X }, left, width-right)
	y := p.axis(func(q Point) float64 { return q.Y }, height-bottom, top)
	fmt.Fprintf(b, `<text x="%d" y="22" font-size="16">%s</text>`+"\n", left, html.EscapeString(p.Title))
	for v := x.low; v <= x.high+x.step/2; v += x.step {
		fmt.Fprintf(b, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%[1]f" y="%[4]d" text-anchor="middle">%[5]s</text>`+"\n",
			x.at(v), top, height-bottom, height-bottom+18, x.label(v))
	}
	for v := y.low; v <= y.high+y.step/2; v += y.step {
		fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, y.at(v), width-right, left-8, y.at(v)+4, y.label(v))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text><text x="%d" y="%d" text-anchor="end">%s</text>`+"\n",
		width-right, height-10, html.EscapeString(p.X), left-8, top-14, html.EscapeString(p.Y))
	for i, s := range p.Series {
		colour := colours[i%len(colours)]
		var path strings.Builder
		for j, q := range s.Points {
			px, py := x.at(x.scale(q.X)), y.at(y.scale(q.Y))
			fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[j == 0], px, py)
			if p.Log {
				fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", px, py, colour)
			}
		}
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`, path.String(), colour)
		fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n",
			left+10+i*230, top-14, colour, html.EscapeString(s.Name))
	}
}
