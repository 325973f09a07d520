package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Errors that clients cause are not incidents: they are not logged as faults of the node.
func TestWhatClientsCauseIsNoIncident(t *testing.T) {
	reset := &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.ECONNRESET)}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("read blocks: %w", context.DeadlineExceeded), "level=DEBUG"},
		{context.Canceled, "level=DEBUG"},
		{reset, "level=DEBUG"},
		{net.ErrClosed, "level=DEBUG"},
		{os.ErrDeadlineExceeded, "level=DEBUG"},
		{errors.New("a row is missing"), "level=ERROR"},
	} {
		var logged bytes.Buffer
		log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		id := logIncidents(log)(t.Context(), "svc_getBlock", c.err)
		if got := logged.String(); !strings.Contains(got, c.want) || !strings.Contains(got, id) {
			t.Errorf("%v is logged as %q, want %s with the id %s", c.err, got, c.want, id)
		}
	}
}
