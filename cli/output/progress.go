package output

import (
	"math"
	"time"

	"github.com/schollz/progressbar/v3"
)

// spinnerStyle is the rotating ASCII line in progressbar's table of spinners.
const spinnerStyle = 9

// spinnerInterval is the time between frames.
const spinnerInterval = 100 * time.Millisecond

// Spin shows a spinner with a text on standard error until stop is called. Without a terminal nothing is shown.
func (p *Printer) Spin(terminal bool, text string) (stop func()) {
	_, stop = p.live(terminal, text)
	return stop
}

// Live is like [Printer.Spin], with a text that can change.
func (p *Printer) Live(terminal bool) (describe func(text string), stop func()) {
	return p.live(terminal, "")
}

func (p *Printer) live(terminal bool, text string) (describe func(text string), stop func()) {
	bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(p.err), progressbar.OptionSetVisibility(terminal),
		progressbar.OptionSetDescription(text), progressbar.OptionSpinnerType(spinnerStyle),
		progressbar.OptionSetSpinnerChangeInterval(spinnerInterval), progressbar.OptionSetElapsedTime(true),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(true))
	return bar.Describe, func() { _ = bar.Finish() } // ignore drawing errors
}

// Bar shows a progress bar with the estimated remaining time on standard error. progress sets the steps done and their
// total; stop removes the bar. Without a terminal nothing is shown.
func (p *Printer) Bar(terminal bool, text string) (progress func(done, total uint64), stop func()) {
	bar := progressbar.NewOptions64(1, progressbar.OptionSetWriter(p.err), progressbar.OptionSetVisibility(terminal && p.log == nil),
		progressbar.OptionSetDescription(text), progressbar.OptionSetPredictTime(true), progressbar.OptionShowCount(),
		progressbar.OptionThrottle(spinnerInterval), progressbar.OptionClearOnFinish())
	progress = func(done, total uint64) {
		if total == 0 {
			return // the total is not known yet
		}
		bar.ChangeMax64(int64(min(total, math.MaxInt64)))
		_ = bar.Set64(int64(min(done, total, math.MaxInt64))) // ignore drawing errors
	}
	return progress, func() { _ = bar.Finish() }
}
