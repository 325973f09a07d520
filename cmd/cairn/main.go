// Command cairn is a blockchain node, and the tools to use one: see cairn --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/cairn-chain/cairn/internal/cli"
	"github.com/cairn-chain/cairn/internal/protocol/params"
)

// version is the software's version; a release sets it with -ldflags "-X main.version=…".
var version = "0.1.0"

func main() { os.Exit(execute()) }

func execute() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := cli.NewRoot(cli.Build{Version: version, ProtocolVersion: params.Version})
	root.AddCommand(newDev(), newInit(), newNode(), newProve(), newDB(), newSnapshot(), newDoctor())
	return cli.Execute(ctx, root, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}
