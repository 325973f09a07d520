package operator

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/config"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

// greatestChainID is the greatest chain id that JavaScript does not round.
const greatestChainID = 1<<53 - 1

func newInit() *cobra.Command {
	location := struct {
		Home string `setting:"home" usage:"directory of keys (default $XDG_DATA_HOME/cairn or ~/.local/share/cairn)"`
	}{}
	var network string
	var chainID uint64
	var allocations []string
	var blockTime time.Duration
	command := &cobra.Command{
		Use:   "init DIR",
		Short: "Create a network: write its genesis, keys and settings into a directory",
		Long: "Create a network: write genesis.json, protocol.key, admin.key and cairn.toml into DIR, the data " +
			"directory of the producing node. Whoever holds protocol.key can produce blocks: keep a copy in a safe " +
			"place. Whoever holds admin.key can change the chain's parameters, name another producer, and announce " +
			"upgrades a week ahead. No node needs admin.key: move it to another machine, or give its rights to a " +
			"policy of several people with cairn configure --admin.",
		Example: "  cairn init ./mychain --network regtest --alloc alice=1000 --alloc bcrt1p…=50\n  cairn node " +
			"--data-dir ./mychain",
		Args: exactlyOne("a directory"),
		RunE: func(command *cobra.Command, args []string) (err error) {
			n := datadir.NewNetwork{
				Network: types.Network(network), ChainID: chainID, Time: uint64(time.Now().UnixMilli()),
				Settings: settingsText(blockTime),
			}
			if err := config.Check(&baseSettings{BlockTime: blockTime}, "block-time"); err != nil {
				return output.Usage(err)
			}
			if n.Network.Prefix() == "" {
				return output.Usage(fmt.Errorf("unknown network %q: use mainnet, testnet or regtest", network))
			}
			random := !command.Flags().Changed("chain-id")
			if random {
				n.ChainID = datadir.RandomChainID()
			}
			if n.ChainID == api.DevelopmentChainID {
				return output.Usage(fmt.Errorf("chain id %d is reserved for `cairn dev`", n.ChainID))
			}
			if n.ChainID == 0 || n.ChainID > greatestChainID {
				return output.Usage(fmt.Errorf("chain id %d is out of range: it must be from 1 to 2^53 − 1", n.ChainID))
			}
			if err := config.Load(&location, settingsSources(command)); err != nil {
				return output.Usage(err)
			}
			store := session.Keystore(location.Home)
			if n.Allocations, err = parseAllocations(store, argument.Chain{
				ID: n.ChainID, Network: n.Network,
			}, allocations); err != nil {
				return output.Usage(err)
			}
			printer := invoke.PrinterOf(command)
			if err := checkKnownKeys(printer, n); err != nil {
				return output.Usage(err)
			}
			return initNetwork(printer, args[0], n, random)
		},
	}
	flags := command.Flags()
	config.Register(flags, &location)
	flags.StringVar(
		&network, "network", string(types.Regtest), "network, which determines the address prefix: mainnet, testnet "+
			"or regtest",
	)
	invoke.CompleteChoice(command, "network", string(types.Mainnet), string(types.Testnet), string(types.Regtest))
	flags.Uint64Var(
		&chainID, "chain-id", 0,
		"chain id, up to 2^53 − 1, which protects transactions against replay on other chains (default random)",
	)
	flags.StringArrayVar(&allocations, "alloc", nil, "initial balance, as ACCOUNT=AMOUNT; ACCOUNT is an address, a "+
		"public key in hex or a name in the keystore; may be repeated")
	flags.DurationVar(
		&blockTime, "block-time", time.Second, "time between blocks; 0: each transaction immediately gets a block of "+
			"its own",
	)
	return command
}

// checkKnownKeys refuses allocations to the accounts of the public mnemonic, whose coins anybody could take. On
// regtest, which may be for tests, it only warns.
func checkKnownKeys(printer *output.Printer, n datadir.NewNetwork) error {
	known, err := datadir.DevelopmentKeys()
	if err != nil {
		return err
	}
	for _, a := range n.Allocations {
		if !known[a.Account] {
			continue
		}
		what := fmt.Sprintf("the key of %s is public, because it comes from the mnemonic of `cairn dev`: anybody can "+
			"take its coins",
			n.Network.Address(a.Account))
		if n.Network != types.Regtest {
			return errors.New(what + ". Make a key of your own: cairn keys new NAME")
		}
		printer.Note("Warning: %s", what)
	}
	return nil
}

func initNetwork(printer *output.Printer, dir string, n datadir.NewNetwork, random bool) (err error) {
	for _, key := range []*crypto.PrivateKey{&n.Key, &n.Admin} {
		if *key, err = crypto.GenerateKey(rand.Reader); err != nil {
			return err
		}
	}
	genesis, err := datadir.InitNetwork(dir, n)
	if err != nil {
		return err
	}
	hash, err := datadir.GenesisHash(genesis)
	if err != nil {
		return err
	}
	result := struct {
		Dir         string          `json:"dir"`
		Network     types.Network   `json:"network"`
		ChainID     uint64          `json:"chainId"`
		GenesisHash types.BlockHash `json:"genesisHash"`
		Producer    string          `json:"producer"`
		Admin       string          `json:"admin"`
		Notice      uint64          `json:"notice"` // milliseconds
	}{
		dir, genesis.Network, genesis.ChainID, hash, genesis.Network.Address(types.Account(genesis.Parameters.Producer)),
		genesis.Network.Address(genesis.Parameters.Admin), genesis.Parameters.Notice,
	}
	return printer.Result(result, func(t *output.Text) {
		t.Fields(output.Field{Name: "network", Value: result.Network}, output.Field{Name: "chain id", Value: result.ChainID},
			output.Field{Name: "genesis hash", Value: result.GenesisHash},
			output.Field{Name: "producer", Value: result.Producer},
			output.Field{
				Name: "producer's key", Value: filepath.Join(dir, datadir.ProtocolKeyFile) + " (keep it secret, keep a copy)",
			},
			output.Field{Name: "admin", Value: result.Admin},
			output.Field{
				Name: "admin's key", Value: filepath.Join(dir, datadir.AdminKeyFile) + " (move it to another machine)",
			},
			output.Field{Name: "notice of upgrades", Value: time.Duration(result.Notice) * time.Millisecond})
		if random {
			t.Line("\nThe chain id is random: transactions signed for this network are valid on no other.")
		}
		t.Line("\nStart it with: cairn node --data-dir %s", dir)
	})
}

// parseAllocations parses ACCOUNT=AMOUNT pairs. Each account may appear once.
func parseAllocations(store *keystore.Store, chain argument.Chain, pairs []string) ([]types.Allocation, error) {
	var allocations []types.Allocation
	seen := map[types.Account]bool{}
	for _, pair := range pairs {
		name, text, found := strings.Cut(pair, "=")
		if !found {
			return nil, fmt.Errorf("--alloc %q: write ACCOUNT=AMOUNT", pair)
		}
		named, err := argument.ParseAccount(store, name)
		if err == nil {
			err = named.On(chain)
		}
		if err != nil {
			return nil, fmt.Errorf("--alloc %q: %w", pair, err)
		}
		account := named.ID
		amount, err := argument.ParseAmount(text)
		if err != nil {
			return nil, fmt.Errorf("--alloc %q: %w", pair, err)
		}
		if amount == 0 || seen[account] {
			return nil, fmt.Errorf("--alloc %q: each account may appear only once, with more than 0 coins", pair)
		}
		seen[account] = true
		allocations = append(allocations, types.Allocation{Account: account, Balance: amount})
	}
	return allocations, nil
}

func settingsText(blockTime time.Duration) string {
	return fmt.Sprintf(`# Settings of this node. Flags and CAIRN_* environment variables override them.
mode = "primary"
block-time = %q
rpc-addr = %q
admin-addr = %q
`, blockTime, defaultRPCAddr, defaultAdminAddr)
}

func exactlyOne(what string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s takes %s, %d arguments given", command.CommandPath(), what, len(args))
		}
		return nil
	}
}
