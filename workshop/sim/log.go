package sim

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// logHandler writes a replica's log to the run's log.
type logHandler struct{ process *process }

// Enabled implements slog.Handler.
func (logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler. It drops the records of a dead process.
func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	w := h.process.node.simulation
	if h.process.goneBefore(w.now() + 1) {
		return nil
	}
	var attributes strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&attributes, ", %s %v", a.Key, a.Value) // writes to a builder cannot fail
		return true
	})
	w.note("%s says: %s%s", h.process.node.name, r.Message, attributes.String())
	return nil
}

// WithAttrs implements slog.Handler: a replica adds no attributes.
func (h logHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(string) slog.Handler { return h }
