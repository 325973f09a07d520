package cli

import (
	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/types"
)

// Build describes the program.
type Build struct {
	build.Info
	// ProtocolVersion is the newest protocol version that the program supports.
	ProtocolVersion uint32 `json:"protocolVersion"`
	// ScheduleDigest is the digest of its gas schedule.
	ScheduleDigest types.Digest `json:"scheduleDigest"`
}

func (b Build) newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the program's version and its protocol version",
		Example: `  cairn version
  cairn version --json`,
		Args: invoke.Exactly(),
		RunE: func(command *cobra.Command, _ []string) error { return b.print(invoke.PrinterOf(command)) },
	}
}

func (b Build) print(printer *output.Printer) error {
	return printer.Result(b, func(t *output.Text) {
		t.Line("%s", b.Info)
		t.Line("protocol version %d, gas schedule %s", b.ProtocolVersion, b.ScheduleDigest)
	})
}
