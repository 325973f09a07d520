package output

import (
	"math"

	"github.com/schollz/progressbar/v3"
)

// Bar shows how far a long piece of work is, with the time that is left, on the standard error. progress is told of the
// steps done and of all there are, and stop ends it. It is for terminals: elsewhere nothing is shown.
func (p *Printer) Bar(terminal bool, text string) (progress func(done, total uint64), stop func()) {
	bar := progressbar.NewOptions64(1, progressbar.OptionSetWriter(p.err), progressbar.OptionSetVisibility(terminal && p.log == nil),
		progressbar.OptionSetDescription(text), progressbar.OptionSetPredictTime(true), progressbar.OptionShowCount(),
		progressbar.OptionThrottle(spinnerInterval), progressbar.OptionClearOnFinish())
	progress = func(done, total uint64) {
		if total == 0 {
			return // it is not known yet how much there is
		}
		bar.ChangeMax64(int64(min(total, math.MaxInt64)))
		_ = bar.Set64(int64(min(done, total, math.MaxInt64))) // what it cannot draw does not matter
	}
	return progress, func() { _ = bar.Finish() }
}
