package output

import (
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
