package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/internal/server/sources"
	"github.com/cairn-chain/cairn/kit/contractbuild"
)

// publishedContract is the result of cairn contract publish.
type publishedContract struct {
	SourceHash contractsource.Hash `json:"sourceHash"`
	Path       string              `json:"path"` // on the node's public address
}

func (a *app) newContractPublish() *cobra.Command {
	var source string
	command := a.completeNames(a.define(&cobra.Command{
		Use:   "publish CONTRACT --source ARCHIVE",
		Short: "Have a node keep a contract's source, for others to verify",
		Long: `Give the archive that a contract's code names to a node, which serves it: cairn contract verify finds it there, and the
explorer links it. The code must say the hash of its source, as cairn contract build has it do: so whoever fetches the archive
knows that it is the one meant, and the node need not be trusted.

The node compiles nothing. It keeps what its operator hands to its admin address with its admin token, 64 MiB in all, in
DATA-DIR/sources; a node in memory keeps none. Other nodes do not get it: publish at each that is to serve it.`,
		Example: "  cairn contract publish gold --source build/nep20.source.tar",
		Args:    exactly("CONTRACT"),
	}, publishSettings, func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		archive, err := readArchive(source)
		if err != nil {
			return err
		}
		hash := contractsource.HashOf(archive)
		ctx, cancel := s.patience(ctx)
		defer cancel()
		code, err := s.codeOnChain(ctx, args[0])
		if err != nil {
			return err
		}
		switch claimed, ok := contractbuild.SourceOf(code); {
		case !ok:
			return fmt.Errorf("the code says no source: nobody could tell that this is the one")
		case claimed != hash:
			return fmt.Errorf("the code says the source %s, and the archive is %s", claimed, hash)
		}
		if err := sources.Publish(ctx, Admin(s.settings.Admin, s.settings.AdminToken), archive); err != nil {
			return fmt.Errorf("not published: %w", err)
		}
		// The admin address may be another node's.
		if _, err := s.client.Source(ctx, hash, contractsource.MaxArchiveBytes); err != nil {
			return fmt.Errorf("%s has the source, but the node of --rpc-url does not serve it: %w", s.settings.Admin, err)
		}
		result := publishedContract{hash, api.SourcesPath + hash.String()}
		return s.Result(result, func(t *output.Text) {
			t.Line("The node serves the source at %s. cairn contract verify %s compiles it.", result.Path, args[0])
		})
	}))
	command.Flags().StringVar(&source, "source", "", "the source's archive, as cairn contract build writes it")
	// Fails only for a flag that does not exist.
	_ = command.MarkFlagRequired("source")
	return command
}
