// Command cairn is a blockchain node, and the tools to use one: see cairn --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/operator"
	"github.com/cairn-chain/cairn/internal/machine"
)

func main() { os.Exit(execute(os.Args[1:], machine.CatchSignals())) }

func execute(args []string, hangups <-chan os.Signal) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := operator.NewRoot(machine.Kernels{}.Use)
	if invoke.IsService(root, args) {
		machine.Serve()
	} else {
		go func() {
			<-hangups // the terminal was closed
			stop()
		}()
	}
	return invoke.Execute(ctx, root, args, invoke.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}
