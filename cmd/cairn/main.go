// Command cairn is a blockchain node, and the tools to use one: see cairn --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/protocol/params"
)

func main() { os.Exit(execute(os.Args[1:], machine.CatchSignals())) }

func execute(args []string, hangups <-chan os.Signal) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(machine.Kernels{}.Use)
	if cli.IsService(root, args) {
		machine.Serve()
	} else {
		go func() {
			<-hangups // the terminal was closed
			stop()
		}()
	}
	return cli.Execute(ctx, root, args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// newRoot returns the program with all its commands. testKernels returns an error if this processor computes wrong
// hashes.
func newRoot(testKernels func() error) *cobra.Command {
	root := cli.NewRoot(cli.Build{
		Info:            build.Read(),
		ProtocolVersion: params.Version,
		ScheduleDigest:  params.Prices.Digest(),
	})
	promote, _, err := root.Find([]string{"promote"})
	if err != nil {
		panic(err) // the command is part of the program
	}
	fromDead(promote)
	// these commands select their kernels themselves, or report on them
	root.AddCommand(newDev(), newNode(), newDoctor(), newQuarantine())
	for _, command := range []*cobra.Command{
		cli.Strict(newInit()), newProve(), newDB(), newSnapshot(), newCluster(), newSigner(),
	} {
		testFirst(command, testKernels)
		root.AddCommand(command)
	}
	return root
}

// testFirst makes a command and its subcommands call test before they run, because their results are stored or trusted.
func testFirst(command *cobra.Command, test func() error) {
	run := command.RunE
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := test(); err != nil {
			return err
		}
		return run(command, args)
	}
	for _, child := range command.Commands() {
		testFirst(child, test)
	}
}
