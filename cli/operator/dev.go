package operator

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/internal/server/explorer"
	"github.com/cairn-chain/cairn/types"
)

// devSettings are the settings of `cairn dev`.
type devSettings struct {
	Ephemeral bool   `setting:"ephemeral" usage:"keep the chain in memory only"`
	Accounts  uint64 `setting:"accounts" bounds:"1..1000" usage:"number of funded accounts"`
	Mnemonic  string `setting:"mnemonic" usage:"BIP-39 mnemonic of the accounts"`
	baseSettings
	proofSettings
	kernelSettings
	contractSettings
	httpSettings
}

func newDev() *cobra.Command {
	settings := devSettings{
		Accounts:         10,
		Mnemonic:         api.DevelopmentMnemonic,
		baseSettings:     defaultBase(dataHome("dev")),
		proofSettings:    defaultProofs(),
		contractSettings: defaultContracts(),
		httpSettings:     defaultHTTP(),
	}
	settings.Explorer = true
	return invoke.Service(withSettings(&cobra.Command{
		Use:   "dev",
		Short: "Run a development chain with funded accounts",
		Long: "Run a development chain: a single node that produces blocks, with chain id 31337 and\nfunded accounts " +
			"whose keys are printed. It is a full chain, stored on disk, and\ncontinues where it stopped. Its keys " +
			"are public: never send anything of value to them.\nEach block prints a line on standard error, and so " +
			"does each message of a contract's\nhost function debug.",
		Example: "  cairn dev\n  cairn dev --ephemeral --block-time 0",
	}, &settings, func(command *cobra.Command) error { return runDev(command, settings) }))
}

func runDev(command *cobra.Command, settings devSettings) error {
	printer := invoke.PrinterOf(command)
	if err := settings.kernelSettings.use(); err != nil {
		return err
	}
	development, err := datadir.NewDevelopment(settings.Mnemonic, int(min(settings.Accounts, 1<<20)))
	if err != nil {
		return output.Usage(err)
	}
	serving, err := settings.serving(settings.RPCAddr, settings.AdminAddr)
	if err != nil {
		return err
	}
	dir := settings.DataDir
	if settings.Ephemeral {
		dir = ""
	} else if _, err := os.Stat(filepath.Join(dir, datadir.GenesisFile)); err == nil {
		return output.Usage(fmt.Errorf("%s is the data directory of a network: start it with `cairn node --data-dir "+
			"%s`", dir, dir))
	}
	log, err := newLogger(command.ErrOrStderr(), settings.LogLevel, settings.LogFormat)
	if err != nil {
		return err
	}
	options := datadir.Options{Log: log}
	proofs, err := settings.proofSettings.set(&options, aloneProvers, true, log, settings.LogFormat)
	if err != nil {
		return err
	}
	settings.contractSettings.set(&options, &serving)
	if err := shareFiles(&options, &serving, log); err != nil {
		return err
	}
	machine.SpareThreads()
	if err := machine.HugePages(); err != nil {
		return err
	}
	machine.BoundHeapGrowth()
	files, stop := watchedFiles(log)
	defer stop()
	data, err := datadir.Open(dir, options)
	if err != nil {
		return err
	}
	genesis := developmentGenesis(development, data)
	if serving.Admin, err = node.ListenAdmin(settings.AdminAddr, settings.AdminHost, build.Read(), log); err != nil {
		return errors.Join(err, data.Close())
	}
	lines := &devLines{to: command.ErrOrStderr(), json: printer.Logs()}
	n, err := node.New(data, node.Config{
		Build: build.Read(),
		Chain: datadir.Chain{Genesis: &genesis},
		Role: role.Solo{Production: role.Production{
			Key:         role.LocalKey(development.Producer),
			BlockTime:   settings.BlockTime,
			Development: development,
			OnDebug:     lines.debug,
		}},
		Serving: serving,
		Proofs:  proofs,
		Files:   files,
		Log:     log,
		OnBlock: lines.block,
	})
	if err != nil {
		return err
	}
	accounts := developmentAccounts(development)
	printDev(printer, log, n, accounts, dir, settings)
	if settings.ReadyFile != "" {
		return run(command.Context(), n, settings.ReadyFile, accounts)
	}
	return runFound(command.Context(), n, accounts)
}

// runFound runs a node that other commands on this machine can find through a file. It removes the file at the end,
// unless another node has replaced it.
func runFound(ctx context.Context, n *node.Node, accounts []developmentAccount) error {
	file := dataHome(session.DevNodeFile)
	if file == "" {
		return run(ctx, n, "", accounts)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return errors.Join(err, n.Close())
	}
	address := n.RPCURL()
	err := run(ctx, n, file, accounts)
	content, readErr := os.ReadFile(file)
	if readErr == nil && bytes.Contains(content, []byte(address)) {
		return errors.Join(err, os.Remove(file))
	}
	return err
}

// developmentGenesis returns the genesis of the chain in dir, or a new one with the current time.
func developmentGenesis(development *datadir.Development, dir *datadir.Dir) types.Genesis {
	created := uint64(time.Now().UnixMilli())
	if stored := dir.Genesis(); stored != nil {
		created = stored.Time
	}
	return development.Genesis(created)
}

// developmentAccount is a funded account in the ready file and in JSON output.
type developmentAccount struct {
	Address    string `json:"address"`
	PublicKey  string `json:"publicKey"`
	PrivateKey string `json:"privateKey"` // the tweaked key, whose x-only public key is the account
}

func developmentAccounts(development *datadir.Development) []developmentAccount {
	accounts := make([]developmentAccount, len(development.Accounts))
	for i, key := range development.Accounts {
		accounts[i] = newDevelopmentAccount(key)
	}
	return accounts
}

func newDevelopmentAccount(key crypto.PrivateKey) developmentAccount {
	public, private := key.PublicKey(), key.Bytes()
	return developmentAccount{
		Address: types.Regtest.Address(public), PublicKey: hex.EncodeToString(public[:]),
		PrivateKey: hex.EncodeToString(private[:]),
	}
}

func printDev(
	printer *output.Printer, log *slog.Logger, n *node.Node, accounts []developmentAccount, dir string,
	settings devSettings,
) {
	where := dir
	if dir == "" {
		where = "in memory"
	}
	result := struct {
		RPC      string               `json:"rpc"`
		Admin    string               `json:"admin"`
		ChainID  uint64               `json:"chainId"`
		DataDir  string               `json:"dataDir"`
		Accounts []developmentAccount `json:"accounts,omitempty"`
	}{n.RPCURL(), n.Admin().URL, api.DevelopmentChainID, dir, accounts}
	if printer.Logs() {
		result.Accounts = nil // keys are never logged
	}
	announce(printer, log, result, func(t *output.Text) {
		t.Line("Cairn %s, development chain\n", build.Read().Version)
		name, hint := "dev%d", "Try: cairn send dev1 1.5 --from dev0"
		if settings.Mnemonic != api.DevelopmentMnemonic {
			name, hint = "#%d", "The names dev0 to dev9 belong to the default mnemonic. To name these accounts, run "+
				"cairn keys import."
		}
		for i, a := range accounts {
			t.Line(
				"%-7s %s  10000 coins\n        public key  %s\n        private key %s",
				fmt.Sprintf(name, i), a.Address, a.PublicKey, a.PrivateKey,
			)
		}
		t.Line("")
		fields := []output.Field{
			{Name: "JSON-RPC", Value: result.RPC}, {Name: "OpenRPC", Value: result.RPC + "/openrpc.json"},
		}
		if settings.Explorer {
			fields = append(fields, output.Field{Name: "explorer", Value: result.RPC + explorer.Path})
		}
		t.Fields(append(fields, output.Field{Name: "health", Value: result.Admin + "/health"},
			output.Field{Name: "chain id", Value: result.ChainID}, output.Field{Name: "data", Value: where})...)
		t.Line("\nThese keys are public: never send anything of value to them. %s\n", hint)
	})
}

// dataHome returns a directory for data in the user's home, or "" if there is no home.
func dataHome(name string) string {
	home := session.Home(os.Environ())
	if home == "" {
		return ""
	}
	return filepath.Join(home, name)
}
