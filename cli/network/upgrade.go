package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

func newUpgrade(a *session.App) *cobra.Command {
	group := invoke.NewGroup(&cobra.Command{
		Use:   "upgrade",
		Short: "Announce or cancel a protocol upgrade, and check which nodes support it",
		Long: `Announce or cancel a protocol upgrade, and check which nodes support it.

The chain's parameters announce the time from which a new protocol version applies, at
least the chain's notice period ahead. A node whose program does not support the version
halts before the first block of that version, and loses nothing: install a newer program
there.`,
		Example: `  cairn upgrade check http://10.0.0.2:8777 http://10.0.0.3:8777
  cairn upgrade announce --version 3 --at 2027-03-01T12:00:00Z --admin-key data/admin.key
  cairn upgrade cancel --admin-key data/admin.key`,
	})
	group.AddCommand(newUpgradeCheck(a), newUpgradeAnnounce(a), newUpgradeCancel(a))
	return group
}

// nodeVersions holds the versions that a node reports.
type nodeVersions struct {
	URL      string                `json:"url"`
	Program  string                `json:"program"` // the program's version
	Protocol uint32                `json:"protocol"`
	Known    []uint32              `json:"known"`
	Upgrade  *api.AnnouncedUpgrade `json:"upgrade"`
	Ready    bool                  `json:"ready"`           // it knows the version that is announced, or asked for
	Error    *string               `json:"error,omitempty"` // why it does not answer
}

func newUpgradeCheck(a *session.App) *cobra.Command {
	var version uint32
	command := a.LookUp(&cobra.Command{
		Use:   "check [URL…]",
		Short: "Check whether nodes support the announced protocol version",
		Long: `Check whether nodes support the announced protocol version, or the one given with
--version: the nodes at the given URLs, or else the node at --rpc-url. Exit code 1 if a
node does not support it, or if a node given by URL does not answer.`,
		Example: "  cairn upgrade check http://10.0.0.2:8777 http://10.0.0.3:8777\n  cairn upgrade check --version 3",
		Args:    cobra.ArbitraryArgs,
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		named := len(args) > 0
		if !named {
			args = []string{s.Settings.RPCURL}
		}
		var nodes []nodeVersions
		for _, url := range args {
			node, err := s.Another(url)
			if err != nil {
				return output.Usage(err)
			}
			info, err := node.NodeInfo(ctx)
			node.Close()
			if err != nil && !named {
				return err
			}
			answer := versionsOf(url, info, version)
			if err != nil {
				answer = nodeVersions{URL: url, Error: new(err.Error())}
			}
			nodes = append(nodes, answer)
		}
		err := s.Result(nodes, func(t *output.Text) {
			rows := make([][]any, len(nodes))
			for i, n := range nodes {
				said := "ready"
				switch {
				case n.Error != nil:
					said = *n.Error
				case !n.Ready:
					said = "NOT supported: install a newer program"
				}
				rows[i] = []any{n.URL, n.Program, n.Protocol, fmt.Sprint(n.Known), said}
			}
			t.Table([]string{"Node", "Program", "Protocol", "Knows", ""}, rows)
		})
		if err == nil && slices.ContainsFunc(nodes, func(n nodeVersions) bool { return !n.Ready }) {
			err = errors.New("not every node supports the version")
		}
		return err
	})
	command.Flags().Uint32Var(&version, "version", 0, "version to check (default: the announced one)")
	return command
}

func versionsOf(url string, info api.NodeInfo, version uint32) nodeVersions {
	answer := nodeVersions{
		URL: url, Program: info.Version, Protocol: info.ProtocolVersion, Known: info.KnownVersions, Upgrade: info.Upgrade,
		Ready: info.Upgrade == nil || info.Upgrade.Known,
	}
	if version != 0 {
		answer.Ready = slices.Contains(info.KnownVersions, version)
	}
	return answer
}

func newUpgradeAnnounce(a *session.App) *cobra.Command {
	var flags submit.Flags
	var keyFile, at string
	var version uint32
	command := a.Define(&cobra.Command{
		Use:   "announce",
		Short: "Announce a protocol upgrade, as the admin",
		Long: `Announce with a transaction by the admin that a new protocol version applies from a
given time. The time must be at least the chain's notice period ("cairn parameters")
after the block that contains the transaction: add a few minutes. First check all nodes:
cairn upgrade check --version N URL…`,
		Example: "  cairn upgrade announce --version 3 --at 2027-03-01T12:00:00Z --admin-key data/admin.key",
		Args:    invoke.Exactly(),
	}, session.SenderSettings, func(ctx context.Context, s *session.Session, command *cobra.Command, _ []string) error {
		from, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return output.Usage(fmt.Errorf("--at: the time must look like 2027-03-01T12:00:00Z: %w", err))
		}
		upgrade := &types.Upgrade{Version: version, From: uint64(max(from.UnixMilli(), 0))}
		return changeUpgrade(ctx, s, command, &flags, keyFile, upgrade)
	})
	command.Flags().Uint32Var(&version, "version", 0, "the new version")
	command.Flags().StringVar(&at, "at", "", "time from which the version applies, like 2027-03-01T12:00:00Z")
	for _, name := range []string{"version", "at"} {
		_ = command.MarkFlagRequired(name) // fails only for a flag that does not exist
	}
	adminKeyFlag(command, &keyFile)
	flags.Register(a, command)
	return command
}

func newUpgradeCancel(a *session.App) *cobra.Command {
	var flags submit.Flags
	var keyFile string
	command := a.Define(&cobra.Command{
		Use:   "cancel",
		Short: "Cancel the announced upgrade, as the admin",
		Long: "Cancel the announced upgrade with a transaction by the admin, which must be in a block before the " +
			"upgrade's time.",
		Example: "  cairn upgrade cancel --admin-key data/admin.key",
		Args:    invoke.Exactly(),
	}, session.SenderSettings, func(ctx context.Context, s *session.Session, command *cobra.Command, _ []string) error {
		return changeUpgrade(ctx, s, command, &flags, keyFile, nil)
	})
	adminKeyFlag(command, &keyFile)
	flags.Register(a, command)
	return command
}

// changeUpgrade sends the parameters with another upgrade, or none.
func changeUpgrade(
	ctx context.Context, s *session.Session, command *cobra.Command, flags *submit.Flags, keyFile string,
	upgrade *types.Upgrade,
) error {
	admin, err := admin(s, keyFile, flags.Unsigned())
	if err != nil {
		return err
	}
	asking, cancel := s.Patience(ctx)
	defer cancel()
	info, err := s.Client.Parameters(asking)
	if err != nil {
		return err
	}
	next := parametersOf(info)
	if upgrade == nil && next.Upgrade == nil {
		return errors.New("no upgrade is announced")
	}
	next.Upgrade = upgrade
	return flags.Submit(ctx, s, command, admin, client.Configure(next))
}
