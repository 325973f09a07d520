package output

import (
	"math"

	"github.com/schollz/progressbar/v3"
)

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
