// Package operator has the operator's commands, and the tree of all commands.
package operator

import (
	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/protocol/params"
)

// NewRoot returns the program with all its commands. testKernels returns an error if this processor computes wrong
// hashes.
func NewRoot(testKernels func() error) *cobra.Command {
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
		invoke.Strict(newInit()), newProve(), newDB(), newSnapshot(), newCluster(), newSigner(),
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
