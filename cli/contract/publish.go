package contract

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/tracing"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/internal/server/sources"
	"github.com/cairn-chain/cairn/kit/contractbuild"
)

// publishedContract is the result of cairn contract publish.
type publishedContract struct {
	SourceHash contractsource.Hash `json:"sourceHash"`
	Path       string              `json:"path"` // on the node's public address
}

func newContractPublish(a *session.App) *cobra.Command {
	var source string
	command := a.CompleteNames(a.Define(&cobra.Command{
		Use:   "publish CONTRACT --source ARCHIVE",
		Short: "Publish a contract's source on a node, so that others can verify it",
		Long: `Publish a contract's source archive on a node: cairn contract verify finds it there, and
the explorer links to it. The contract's code must contain the hash of its source, as
cairn contract build writes it. Whoever downloads the archive can therefore check it,
and need not trust the node.

The node does not compile the source. Only its operator can publish, with the admin
token, through the admin address. The node stores up to 64 MiB in DATA-DIR/sources; a
node in memory stores none. Sources are not passed on to other nodes: publish on each
node that should serve them.`,
		Example: "  cairn contract publish gold --source build/nep20.source.tar",
		Args:    invoke.Exactly("CONTRACT"),
	}, session.PublishSettings, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		archive, err := tracing.ReadArchive(source)
		if err != nil {
			return err
		}
		hash := contractsource.HashOf(archive)
		ctx, cancel := s.Patience(ctx)
		defer cancel()
		code, err := codeOnChain(ctx, s, args[0])
		if err != nil {
			return err
		}
		switch claimed, ok := contractbuild.SourceOf(code); {
		case !ok:
			return fmt.Errorf("the code contains no source hash, so nobody could verify this source")
		case claimed != hash:
			return fmt.Errorf("the code names the source %s, but the archive is %s", claimed, hash)
		}
		if err := sources.Publish(ctx, session.Admin(s.Settings.Admin, s.Settings.AdminToken), archive); err != nil {
			return fmt.Errorf("cannot publish: %w", err)
		}
		// The admin address may be another node's.
		if _, err := s.Client.Source(ctx, hash, contractsource.MaxArchiveBytes); err != nil {
			return fmt.Errorf("%s stored the source, but the node at --rpc-url does not serve it: %w", s.Settings.Admin, err)
		}
		result := publishedContract{hash, api.SourcesPath + hash.String()}
		return s.Result(result, func(t *output.Text) {
			t.Line("The node serves the source at %s. To verify it: cairn contract verify %s", result.Path, args[0])
		})
	}))
	command.Flags().StringVar(&source, "source", "", "source archive, as written by cairn contract build")
	// Fails only for a flag that does not exist.
	_ = command.MarkFlagRequired("source")
	return command
}
