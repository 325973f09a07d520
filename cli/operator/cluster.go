package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/server/members"
	"github.com/cairn-chain/cairn/types"
)

func newCluster() *cobra.Command {
	command := invoke.NewGroup(&cobra.Command{
		Use:   "cluster",
		Short: "Run a producer on several machines, with automatic failover",
		Long: "Run one producer on several machines, for high availability: they replicate every block\nand " +
			"transaction through Raft, and when the leader fails another member takes over\n(failover). These " +
			"commands create the cluster and change its members. See\ndocs/cluster.md.",
		Example: "  cairn cluster init --data-dir ./mychain --name a --address 10.0.0.1:8779\n  cairn cluster status",
	})
	command.AddCommand(newClusterInit(), newClusterJoin(), newClusterRecover(), newClusterAdd(), newClusterRemove(),
		newClusterTransfer(), newClusterStatus())
	return command
}

// memberDir is the setting of commands on a stopped node's directory.
type memberDir struct {
	DataDir string `setting:"data-dir" usage:"data directory of a stopped node"`
}

var memberName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// checkMember refuses names and addresses that are invalid for a member.
func checkMember(name, address, rpc string) error {
	if !memberName.MatchString(name) {
		return output.Usage(fmt.Errorf("a member's name consists of 1 to 63 characters a-z, 0-9, '.', '_' and '-', "+
			"beginning with a letter or digit, not %q", name))
	}
	if rpc != "" {
		if u, err := url.Parse(rpc); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
			len(rpc) > 256 {
			return output.Usage(errors.New("--rpc must be an http or https URL of at most 256 bytes"))
		}
	}
	return checkAddress("--address", address)
}

func checkAddress(flag, address string) error {
	host, port, err := net.SplitHostPort(address)
	number, errPort := strconv.ParseUint(port, 10, 16)
	if err != nil || errPort != nil || host == "" || number == 0 || len(address) > 256 {
		return output.Usage(fmt.Errorf("%s must be the HOST:PORT at which the other members reach this one, not %q", flag, address))
	}
	return nil
}

type madeMember struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Pin     string `json:"pin"`
	DataDir string `json:"dataDir"`
}

func newClusterInit() *cobra.Command {
	settings := memberDir{dataHome("node")}
	var m datadir.Membership
	command := withSettings(&cobra.Command{
		Use:   "init",
		Short: "Turn a producer's data directory into a cluster of one member",
		Long: "Turn the data directory of a stopped producer, or one that cairn init made, into a\ncluster of one " +
			"member. The chain and the key stay the same. Add the other members\nafterwards.",
		Example: "  cairn cluster init --data-dir ./mychain --name a --address 10.0.0.1:8779",
	}, &settings, func(command *cobra.Command) error {
		if err := checkMember(m.Name, m.Address, m.RPC); err != nil {
			return err
		}
		with := withChain
		if exists(filepath.Join(settings.DataDir, datadir.GenesisFile)) {
			with = withDir // a new directory may have no chain yet
		}
		var pin p2p.Pin
		err := with(settings.DataDir, datadir.Options{}, func(d *datadir.Dir) (err error) {
			pin, err = d.InitCluster(m)
			return err
		})
		if err != nil {
			return err
		}
		result := madeMember{m.Name, m.Address, pin.String(), settings.DataDir}
		return invoke.PrinterOf(command).Result(result, func(t *output.Text) {
			t.Fields(output.Field{Name: "member", Value: result.Name}, output.Field{Name: "address", Value: result.Address},
				output.Field{Name: "pin", Value: result.Pin})
			t.Line("\nStart it with: cairn node --data-dir %s --cluster-addr %s", settings.DataDir, m.Address)
		})
	})
	flags := command.Flags()
	flags.StringVar(&m.Name, "name", "", "name of the member")
	flags.StringVar(&m.Address, "address", "", "HOST:PORT at which the other members reach this one")
	flags.StringVar(&m.RPC, "rpc", "", "URL of its JSON-RPC, which other members give to clients looking for the "+
		"leader")
	return command
}

func newClusterJoin() *cobra.Command {
	settings := memberDir{dataHome("node")}
	var m datadir.Membership
	var peer, pin string
	command := withSettings(&cobra.Command{
		Use:   "join",
		Short: "Prepare a data directory to join a cluster, and print its pin",
		Long: "Create the key of a new member in a data directory, and print the command that adds the\nmember to " +
			"the cluster. The directory needs the chain's genesis.json and the producer's\nkey. It may already " +
			"contain a replica's chain; missing blocks are fetched from the other\nmembers.",
		Example: "  cairn cluster join --data-dir ./b --name b --address 10.0.0.2:8779 --peer 10.0.0.1:8779 --peer-pin PIN",
	}, &settings, func(command *cobra.Command) error {
		if err := checkMember(m.Name, m.Address, m.RPC); err != nil {
			return err
		}
		if err := checkAddress("--peer", peer); err != nil {
			return err
		}
		peerPin, err := p2p.ParsePin(pin)
		if err != nil {
			return output.Usage(fmt.Errorf("--peer-pin: %w", err))
		}
		key, err := keyFlag(settings.DataDir)
		if err != nil {
			return err
		}
		var own p2p.Pin
		err = withDir(settings.DataDir, datadir.Options{}, func(d *datadir.Dir) (err error) {
			own, err = d.JoinCluster(p2p.Peer{Address: peer, Pin: peerPin})
			return err
		})
		if err != nil {
			return err
		}
		result := madeMember{m.Name, m.Address, own.String(), settings.DataDir}
		return invoke.PrinterOf(command).Result(result, func(t *output.Text) {
			t.Fields(output.Field{Name: "member", Value: result.Name}, output.Field{Name: "address", Value: result.Address},
				output.Field{Name: "pin", Value: result.Pin})
			rpc := ""
			if m.RPC != "" {
				rpc = " --rpc " + m.RPC
			}
			t.Line("\nOn the leader, add it: cairn cluster add %s --address %s --pin %s%s%s", m.Name, m.Address, own, rpc, key)
			t.Line("Then start it:         cairn node --data-dir %s --cluster-addr %s", settings.DataDir, m.Address)
		})
	})
	flags := command.Flags()
	flags.StringVar(&m.Name, "name", "", "name of the member")
	flags.StringVar(&m.Address, "address", "", "HOST:PORT at which the other members reach this one")
	flags.StringVar(&m.RPC, "rpc", "", "URL of its JSON-RPC, which other members give to clients looking for the "+
		"leader")
	flags.StringVar(&peer, "peer", "", "HOST:PORT of an existing member")
	flags.StringVar(&pin, "peer-pin", "", "that member's pin, 64 hex digits")
	return command
}

// keyFlag returns the --producer flag of `cairn cluster add` for the producer's key in the directory of a new member,
// or "" if there is no key.
func keyFlag(dataDir string) (string, error) {
	key, err := datadir.ReadProtocolKey(filepath.Join(dataDir, datadir.ProtocolKeyFile))
	switch {
	case errors.Is(err, fs.ErrNotExist): // the key may be in another file or at a signer
		return "", nil
	case err != nil:
		return "", err
	}
	return " --producer " + types.PublicKey(key.PublicKey()).String(), nil
}

func newClusterRecover() *cobra.Command {
	settings := memberDir{dataHome("node")}
	var height uint64
	command := withSettings(&cobra.Command{
		Use:   "recover",
		Short: "Recover from a permanent loss of quorum: make a directory the only member of a new cluster",
		Long: "Make a directory the only member of a new cluster, with everything that it contains. Use\nit only if " +
			"a majority of the members (the quorum) is lost for good. Everything that the\nother members committed " +
			"beyond this directory is lost, including transactions\nacknowledged to senders. None of their disks may " +
			"ever run again.",
		Example: "  cairn cluster recover --data-dir ./mychain",
	}, &settings, func(command *cobra.Command) error {
		var state datadir.MemberState
		err := lookThenDo(settings.DataDir, func(d *datadir.Dir) (err error) {
			if state, err = d.MemberState(); err != nil {
				return err
			}
			printer := invoke.PrinterOf(command)
			printer.Note("This directory ends at block %d (%s), entry %d of the cluster's log, term %d.\nEverything "+
				"that the other members committed after that is lost: blocks and acknowledged transactions.\nIf "+
				"another directory of the cluster has a higher term, or more entries in the same term, recover that "+
				"one instead.\nThe disks of all other members must never run again: delete their directories.",
				state.Head.Height, state.Head.Hash, state.Index, state.Term)
			if !command.Flags().Changed("height") {
				if height, err = session.AskNumber(command, "Type the height of the block to continue: ", "--height"); err != nil {
					return err
				}
			}
			if types.Height(height) != state.Head.Height {
				return fmt.Errorf("not confirmed, nothing changed: the height is %d, not %d", state.Head.Height, height)
			}
			return nil
		}, func(d *datadir.Dir) error {
			if now, err := d.MemberState(); err != nil || now != state {
				return errors.Join(err, errChangedMeanwhile)
			}
			return d.RecoverCluster()
		})
		if err != nil {
			return err
		}
		return invoke.PrinterOf(command).Result(state, func(t *output.Text) {
			t.Line("%s is now a cluster of one member, and continues after block %d.", settings.DataDir, state.Head.Height)
		})
	})
	command.Flags().Uint64Var(&height, "height", 0, "height of the directory's newest block, as a confirmation "+
		"without a prompt")
	return command
}

// onMember completes a command that calls a member of the cluster.
func onMember(
	command *cobra.Command,
	args cobra.PositionalArgs,
	do func(context.Context, *cobra.Command, members.Client, []string) error,
) *cobra.Command {
	settings := defaultAdmin()
	var words []string
	withSettings(command, &settings, func(command *cobra.Command) error {
		return do(command.Context(), command, members.Client{Node: settings.client()}, words)
	})
	run := command.RunE
	command.Args = args
	command.RunE = func(command *cobra.Command, args []string) error {
		words = args
		return run(command, args)
	}
	return command
}

func newClusterAdd() *cobra.Command {
	var a members.Addition
	command := onMember(&cobra.Command{
		Use:   "add NAME",
		Short: "Add a member",
		Long: "Add a member that `cairn cluster join` prepared; join also printed its pin. The new\nmember receives " +
			"what it is missing, and becomes a voter once it has nearly caught up.\nOnly the leader adds members: " +
			"`cairn cluster status` shows the leader.",
		Example: "  cairn cluster add b --address 10.0.0.2:8779 --pin PIN",
	}, exactlyOne("a name"), func(ctx context.Context, command *cobra.Command, c members.Client, args []string) error {
		a.Name = args[0]
		if err := checkMember(a.Name, a.Address, a.RPC); err != nil {
			return err
		}
		if _, err := p2p.ParsePin(a.Pin); err != nil {
			return output.Usage(fmt.Errorf("--pin: %w", err))
		}
		if err := c.Add(ctx, a); err != nil {
			return err
		}
		return invoke.PrinterOf(command).Result(a, func(t *output.Text) {
			t.Line("Added %s. It becomes a voter once it has nearly caught up: see cairn cluster status.", a.Name)
		})
	})
	flags := command.Flags()
	flags.StringVar(&a.Address, "address", "", "HOST:PORT at which the other members reach it")
	flags.StringVar(&a.Pin, "pin", "", "its pin, 64 hex digits")
	flags.StringVar(&a.RPC, "rpc", "", "URL of its JSON-RPC, which other members give to clients looking for the "+
		"leader")
	flags.StringVar(&a.Producer, "producer", "", "public key of the producer's key that it holds, 64 hex digits; "+
		"refused unless it is the chain's producer")
	flags.BoolVar(&a.NoKey, "no-key", false, "the member has no producer's key: it votes, and transfers leadership "+
		"if it is elected")
	return command
}

func newClusterRemove() *cobra.Command {
	return onMember(&cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a member for good",
		Long: "Remove a member. Its key is refused from then on, and its directory may never join\nagain. The " +
			"command is refused if fewer than a majority of the remaining voters are\nreachable, because the cluster " +
			"would lose its quorum.",
		Example: "  cairn cluster remove b",
	}, exactlyOne("a name"), func(ctx context.Context, command *cobra.Command, c members.Client, args []string) error {
		if err := c.Remove(ctx, args[0]); err != nil {
			return err
		}
		return invoke.PrinterOf(command).Result(map[string]string{"removed": args[0]}, func(t *output.Text) {
			t.Line("Removed %s. Its directory must not run again: create a new member with cairn cluster join.", args[0])
		})
	})
}

func newClusterTransfer() *cobra.Command {
	return onMember(&cobra.Command{
		Use:   "transfer [NAME]",
		Short: "Transfer leadership to another member",
		Long: "Transfer leadership to a member, by default to the one with the most up-to-date log. A leader that is " +
			"stopped does this by itself.",
		Example: "  cairn cluster transfer b",
	}, cobra.MaximumNArgs(1), func(ctx context.Context, command *cobra.Command, c members.Client, args []string) error {
		if err := c.Transfer(ctx, append(args, "")[0]); err != nil {
			return err
		}
		status, err := c.Status(ctx)
		if err != nil {
			return err
		}
		return invoke.PrinterOf(command).Result(map[string]string{"leader": status.Leader}, func(t *output.Text) {
			t.Line("The leader is %s.", cmp.Or(status.Leader, "not known yet"))
		})
	})
}

func newClusterStatus() *cobra.Command {
	return onMember(&cobra.Command{
		Use:     "status",
		Short:   "Show the leader and the members",
		Example: "  cairn cluster status --admin http://127.0.0.1:8778",
	}, noArguments, func(ctx context.Context, command *cobra.Command, c members.Client, _ []string) error {
		status, err := c.Status(ctx)
		if err != nil {
			return err
		}
		return invoke.PrinterOf(command).Result(status, func(t *output.Text) {
			t.Line("%s", status.Verdict)
			t.Fields(output.Field{Name: "cluster", Value: status.Cluster}, output.Field{Name: "this member", Value: status.Self},
				output.Field{Name: "state", Value: stateOf(status)},
				output.Field{Name: "pin", Value: pinOf(status)}, output.Field{Name: "leader", Value: cmp.Or(
					status.Leader, "none (no leader elected)",
				)}, output.Field{Name: "term", Value: status.Term},
				output.Field{Name: "block", Value: status.Height},
				output.Field{Name: "log", Value: fmt.Sprintf("applied %d, last %d, %d bytes",
					status.Applied, status.Last, status.LogBytes)})
			slices.SortFunc(status.Members, func(a, b members.Member) int { return cmp.Compare(a.Name, b.Name) })
			for _, m := range status.Members {
				t.Line("%s", memberLine(status, m))
			}
		})
	})
}

// stateOf returns the state of the member that answers, with the reason if it is limited.
func stateOf(s members.Status) string {
	if s.Reason == "" {
		return s.State
	}
	return s.State + ": " + s.Reason
}

// pinOf returns the pin of the member that answers, which new members need.
func pinOf(s members.Status) string {
	for _, m := range s.Members {
		if m.Name == s.Self {
			return m.Pin
		}
	}
	return ""
}

// memberLine formats a member as one line.
func memberLine(s members.Status, m members.Member) string {
	role := "learns"
	switch {
	case m.Name == s.Leader:
		role = "leads"
	case m.Voter:
		role = "votes"
	}
	line := fmt.Sprintf("  %-12s %-6s %-21s ", m.Name, role, m.Address)
	if m.Reported {
		line += fmt.Sprintf("applied %d, %d behind", m.Applied, m.Lag)
	} else {
		line += "applied index not reported yet"
	}
	if m.Reported && m.Name != s.Self {
		line += fmt.Sprintf(", clock %+d ms", m.ClockOffsetMS)
	}
	if m.Starts != 0 {
		line += fmt.Sprintf(", starts %d", m.Starts)
	}
	if m.Program != "" {
		line += ", " + m.Program
	}
	if m.Fault != "" {
		line += "; not reached: " + m.Fault
	}
	if m.Unfit != "" {
		line += "; cannot make blocks: " + m.Unfit
	}
	return line
}
