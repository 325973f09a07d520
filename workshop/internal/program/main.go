package program

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs the main function of a command that starts programs. An interrupt or SIGTERM cancels the context, so that
// run stops what it started. An error is printed to standard error, and the command exits with code 1.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
