package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

func newDBBalances() *cobra.Command {
	settings := struct {
		DataDir string `setting:"data-dir" usage:"data directory of a stopped node, with a chain of protocol version 1"`
		Home    string `setting:"home" usage:"directory of the keystore, for the names of accounts (default $XDG_DATA_HOME/cairn or ~/.local/share/cairn)"`
	}{}
	var network, producer, admin string
	var chainID uint64
	var assignments []string
	command := withSettings(&cobra.Command{
		Use:   "balances",
		Short: "Write a genesis with the balances of a chain of protocol version 1",
		Long: "Write a genesis with the balances of a chain of protocol version 1, which this program cannot " +
			"continue. The new chain has a different chain id, so no transaction is valid on both. Contracts are not " +
			"carried over: deploy them again, and use --assign to say who gets each contract's coins. The private " +
			"key of --producer signs the blocks of the new chain.",
		Example: "  cairn db balances --data-dir ./old --producer bcrt1p… --admin bcrt1p… > genesis.json\n" +
			"  cairn node --data-dir ./new --genesis genesis.json --protocol-key protocol.key",
	}, &settings, func(command *cobra.Command) error {
		s := datadir.Successor{
			Network: types.Network(network), ChainID: chainID, Time: uint64(time.Now().UnixMilli()),
		}
		if s.Network.Prefix() == "" {
			return output.Usage(fmt.Errorf("unknown network %q: use mainnet, testnet or regtest", network))
		}
		if !command.Flags().Changed("chain-id") {
			s.ChainID = datadir.RandomChainID()
		}
		if err := readSuccessor(&s, session.Keystore(settings.Home), producer, admin, assignments); err != nil {
			return output.Usage(err)
		}
		balances, err := datadir.ReadBalances(settings.DataDir)
		if err != nil {
			return err
		}
		g, err := s.Genesis(balances)
		if errors.Is(err, datadir.ErrUnassigned) {
			return output.Usage(fmt.Errorf("%w: use --assign CONTRACT=ACCOUNT to say who gets them", err))
		}
		if err != nil {
			return err
		}
		rendering, err := json.MarshalIndent(g, "", "  ")
		if err != nil {
			return err
		}
		invoke.PrinterOf(command).Note("The genesis has %d accounts, as of block %d. Its chain id is %d", len(g.Allocations), balances.Head, g.ChainID)
		_, err = fmt.Fprintln(command.OutOrStdout(), string(rendering))
		return err
	})
	flags := command.Flags()
	flags.StringVar(&network, "network", string(types.Regtest), "network of the old chain: mainnet, testnet or regtest")
	invoke.CompleteChoice(command, "network", string(types.Mainnet), string(types.Testnet), string(types.Regtest))
	flags.Uint64Var(&chainID, "chain-id", 0, "chain id of the new chain, different from the old one (default random)")
	flags.StringVar(&producer, "producer", "", "the producer's public key, as hex or as an address")
	flags.StringVar(&admin, "admin", "", "account that may change the parameters: an address, a public key in hex or a name in the keystore")
	flags.StringArrayVar(&assignments, "assign", nil,
		"account that gets the coins of a contract, as CONTRACT=ACCOUNT, where ACCOUNT is as with --admin; may be repeated")
	return command
}

// readSuccessor reads the accounts of a new chain from flags.
func readSuccessor(
	s *datadir.Successor, store *keystore.Store, producer, admin string, assignments []string,
) error {
	key, err := s.Network.ParseAccount(producer)
	if err != nil {
		return fmt.Errorf("--producer: %w", err)
	}
	s.Producer = types.PublicKey(key)
	named := func(text string) (types.Account, error) {
		account, err := argument.ParseAccount(store, text)
		if err == nil {
			err = account.On(argument.Chain{ID: s.ChainID, Network: s.Network})
		}
		return account.ID, err
	}
	if s.Admin, err = named(admin); err != nil {
		return fmt.Errorf("--admin: %w", err)
	}
	s.Assigned = make(map[types.Account]types.Account)
	for _, pair := range assignments {
		contract, account, found := strings.Cut(pair, "=")
		from, fromErr := s.Network.ParseAccount(contract)
		to, toErr := named(account)
		if err := errors.Join(fromErr, toErr); !found || err != nil {
			return fmt.Errorf("--assign %q: write CONTRACT=ACCOUNT: %w", pair, err)
		}
		s.Assigned[from] = to
	}
	return nil
}
