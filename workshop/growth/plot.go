package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

type point struct{ x, y float64 }

type series struct {
	name   string
	points []point
}

// plot is a diagram with two logarithmic axes, on which a power of the size is a straight line.
type plot struct {
	title, x, y string
	series      []series
}

// Measures of the drawing, in pixels.
const (
	width, height            = 720, 440
	left, right, top, bottom = 70, 20, 60, 50
)

// colours tell the series apart (Okabe and Ito's, which colour-blind people tell apart too).
var colours = []string{"#0072b2", "#d55e00", "#009e73"}

// svg draws the plot.
func (p plot) svg() string {
	low, high := p.bounds()
	at := func(q point) (x, y float64) {
		x = left + (width-left-right)*(math.Log10(q.x)-low.x)/(high.x-low.x)
		y = height - bottom - (height-top-bottom)*(math.Log10(q.y)-low.y)/(high.y-low.y)
		return x, y
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="13">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+
		`<text x="%d" y="22" font-size="16">%s</text>`+"\n", width, height, left, html.EscapeString(p.title))
	for e := low.x; e <= high.x; e++ {
		x, _ := at(point{math.Pow(10, e), math.Pow(10, low.y)})
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x, top, height-bottom, x, height-bottom+18, power(e))
	}
	for e := low.y; e <= high.y; e++ {
		_, y := at(point{math.Pow(10, low.x), math.Pow(10, e)})
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, y, width-right, left-8, y+4, power(e))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text><text x="%d" y="%d" text-anchor="end">%s</text>`+"\n",
		width-right, height-10, html.EscapeString(p.x), left-8, top-14, html.EscapeString(p.y))
	for i, s := range p.series {
		colour := colours[i%len(colours)]
		var path strings.Builder
		for j, q := range s.points {
			x, y := at(q)
			fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[j == 0], x, y)
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x, y, colour)
		}
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`, path.String(), colour)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n",
			left+10+i*250, top-14, colour, html.EscapeString(s.name))
	}
	return b.String() + "</svg>\n"
}

// power is 10^e for people.
func power(e float64) string {
	if e >= -2 && e <= 3 {
		return fmt.Sprintf("%g", math.Pow(10, e))
	}
	return fmt.Sprintf(`10<tspan dy="-5" font-size="9">%.0f</tspan>`, e)
}

// bounds are the powers of ten around all points.
func (p plot) bounds() (low, high point) {
	low, high = point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, s := range p.series {
		for _, q := range s.points {
			low = point{min(low.x, math.Log10(q.x)), min(low.y, math.Log10(q.y))}
			high = point{max(high.x, math.Log10(q.x)), max(high.y, math.Log10(q.y))}
		}
	}
	if math.IsInf(low.x, 0) {
		return point{0, 0}, point{1, 1}
	}
	low, high = point{math.Floor(low.x), math.Floor(low.y)}, point{math.Ceil(high.x), math.Ceil(high.y)}
	return low, point{max(high.x, low.x+1), max(high.y, low.y+1)}
}
