package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/accept"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/signer"
	"github.com/cairn-chain/cairn/types"
)

func newSigner() *cobra.Command {
	command := invoke.NewGroup(&cobra.Command{
		Use:   "signer",
		Short: "Run a remote signer: a separate process that holds the producer's key and prevents double-signing",
		Long: "Keep the producer's key off the machines that serve clients. A separate process, the\nremote signer, " +
			"holds the key, signs the headers that its nodes send, and records the\nnewest one, so it never " +
			"double-signs: it never signs two blocks of the same height. See\ndocs/cluster.md.",
		Example: "  cairn signer init --data-dir ./signer --genesis genesis.json --protocol-key protocol.key\n" +
			"  cairn signer link --data-dir ./mychain\n" +
			"  cairn signer run --data-dir ./signer --listen 10.0.0.9:8780 --client PIN",
	})
	command.AddCommand(newSignerInit(), newSignerLink(), newSignerRun(), newSignerUnlock())
	return command
}

// signerInit are the settings of `cairn signer init`.
type signerInit struct {
	DataDir     string `setting:"data-dir" usage:"directory of the signer, which is created"`
	Genesis     string `setting:"genesis" usage:"genesis file of the chain"`
	ProtocolKey string `setting:"protocol-key" usage:"file with the producer's key, to copy into the directory"`
}

func newSignerInit() *cobra.Command {
	settings := signerInit{DataDir: dataHome("signer")}
	return withSettings(&cobra.Command{
		Use:   "init",
		Short: "Create a signer's directory, and print the settings its nodes need",
		Long: "Create a signer's directory with a copy of the producer's key, and a new key that\nidentifies the " +
			"signer to its nodes. Before this, stop the node that holds the producer's\nkey, and remove the key from " +
			"it.",
		Example: "  cairn signer init --data-dir ./signer --genesis genesis.json --protocol-key protocol.key",
	}, &settings, func(command *cobra.Command) error {
		if settings.Genesis == "" || settings.ProtocolKey == "" {
			return output.Usage(errors.New("--genesis and --protocol-key are required"))
		}
		genesis, err := datadir.ReadGenesis(settings.Genesis, settings.DataDir, nil)
		if err != nil {
			return output.Usage(err)
		}
		key, err := datadir.ReadProtocolKey(settings.ProtocolKey)
		if err != nil {
			return output.Usage(err)
		}
		pin, err := datadir.InitSigner(settings.DataDir, genesis, key)
		if err != nil {
			return err
		}
		result := struct {
			DataDir  string `json:"dataDir"`
			Pin      string `json:"pin"`
			Producer string `json:"producer"`
		}{settings.DataDir, pin.String(), types.PublicKey(key.PublicKey()).String()}
		return invoke.PrinterOf(command).Result(result, func(t *output.Text) {
			t.Fields(output.Field{Name: "signer", Value: result.DataDir}, output.Field{Name: "pin", Value: result.Pin},
				output.Field{Name: "producer", Value: result.Producer})
			t.Line("\nPrint each node's pin:     cairn signer link --data-dir DIR")
			t.Line("Then start the signer:     cairn signer run --data-dir %s --listen HOST:PORT --client PIN_OF_NODE",
				result.DataDir)
			t.Line("Then start the node:       cairn node --signer HOST:PORT --signer-pin %s --signer-producer %s",
				result.Pin, result.Producer)
		})
	})
}

func newSignerLink() *cobra.Command {
	settings := memberDir{dataHome("node")}
	return withSettings(&cobra.Command{
		Use:   "link",
		Short: "Print the pin that identifies a node to its signer",
		Long: "Print the pin that identifies a node to its signer. If the node's data directory has no\nkey for this " +
			"yet, one is created: each node has its own.",
		Example: "  cairn signer link --data-dir ./mychain",
	}, &settings, func(command *cobra.Command) error {
		identity, err := datadir.SignerLink(filepath.Join(settings.DataDir, datadir.SignerLinkFile), true)
		if err != nil {
			return err
		}
		result := struct {
			Pin string `json:"pin"`
		}{identity.Pin().String()}
		return invoke.PrinterOf(command).Result(result, func(t *output.Text) {
			t.Fields(output.Field{Name: "pin", Value: result.Pin})
		})
	})
}

func newSignerUnlock() *cobra.Command {
	settings := signerDir{dataHome("signer")}
	return withSettings(&cobra.Command{
		Use:   "unlock",
		Short: "Reset a signer's sign state (its double-sign protection)",
		Long: "Reset a signer's sign state if the file is lost, or if a node lost the last block it\nasked the " +
			"signer to sign. Stop the signer first. Make sure that no node anywhere has a\nblock signed by this key " +
			"that your nodes lack: the signer could sign another block of\nthe same height, which is double-signing.",
		Example: "  cairn signer unlock --data-dir ./signer",
	}, &settings, func(command *cobra.Command) error {
		path, err := datadir.UnlockSigner(settings.DataDir)
		if err != nil {
			return err
		}
		result := struct {
			Lock string `json:"lock"`
		}{path}
		return invoke.PrinterOf(command).Result(result, func(t *output.Text) {
			t.Fields(output.Field{Name: "reset", Value: result.Lock})
		})
	})
}

// signerDir is the setting of commands for a signer's directory.
type signerDir struct {
	DataDir string `setting:"data-dir" usage:"directory of a stopped signer"`
}

// signerRun are the settings of `cairn signer run`.
type signerRun struct {
	DataDir   string   `setting:"data-dir" usage:"directory created by cairn signer init"`
	Listen    string   `setting:"listen" usage:"listen address for nodes, as HOST:PORT; port 0 picks a free port"`
	Client    []string `setting:"client" usage:"pin of a node that may request signatures, as printed by cairn signer link; may be repeated"`
	AdminAddr string   `setting:"admin-addr" usage:"listen address of health, readiness and metrics; port 0 picks a free port"`
	AdminHost []string `setting:"admin-host" usage:"accepted Host header of admin requests, in addition to local names and addresses, or *; may be repeated"`
	LogLevel  string   `setting:"log-level" usage:"minimum level of log messages: debug, info, warn or error"`
	LogFormat string   `setting:"log-format" usage:"format of the log on standard error: text or json"`
}

func newSignerRun() *cobra.Command {
	settings := signerRun{
		DataDir: dataHome("signer"), Listen: "127.0.0.1:8780", AdminAddr: "127.0.0.1:8781", LogLevel: "info",
		LogFormat: "text",
	}
	return invoke.Service(withSettingsFile(&cobra.Command{
		Use:   "run",
		Short: "Run the signer",
		Long: "Run the signer: sign block headers for the nodes with the given pins. Settings come from flags, " +
			"CAIRN_* variables and DATA-DIR/cairn.toml.",
		Example: "  cairn signer run --data-dir ./signer --listen 10.0.0.9:8780 --client PIN",
	}, &settings, func(command *cobra.Command) error { return runSigner(command, settings) }))
}

func runSigner(command *cobra.Command, settings signerRun) (err error) {
	log, err := newLogger(command.ErrOrStderr(), settings.LogLevel, settings.LogFormat)
	if err != nil {
		return err
	}
	if len(settings.Client) == 0 {
		return output.Usage(errors.New("--client PIN is required: run `cairn signer link` on the node's machine to " +
			"print it"))
	}
	pins := make([]p2p.Pin, len(settings.Client))
	for i, text := range settings.Client {
		if pins[i], err = p2p.ParsePin(text); err != nil {
			return output.Usage(fmt.Errorf("--client: %w", err))
		}
	}
	dir, err := datadir.OpenSigner(settings.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	listener, err := net.Listen("tcp", settings.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	address, err := node.ListenAdmin(settings.AdminAddr, settings.AdminHost, build.Read(), log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer address.Close()
	metrics := telemetry.NewProcess(build.Read(), log)
	server := signer.NewServer(signer.Config{
		Key:      dir.Key,
		ChainID:  dir.ChainID,
		Genesis:  dir.Genesis,
		Lock:     dir.Lock,
		Identity: dir.Identity,
		Clients:  pins,
		Took:     node.SignerDurations(metrics),
		Log:      log,
	})
	node.RegisterSigner(metrics, server.Stats)
	address.Serve(admin.Config{Ready: server.Ready, Metrics: metrics.Handler()})
	held := dir.Lock.Last()
	result := struct {
		Listen   string       `json:"listen"`
		Admin    string       `json:"admin"`
		Pin      string       `json:"pin"`
		Producer string       `json:"producer"`
		Height   types.Height `json:"height"`
	}{
		listener.Addr().String(), address.URL(), dir.Identity.Pin().String(), types.PublicKey(dir.Key.PublicKey()).String(), held.Height,
	}
	announce(invoke.PrinterOf(command), log, result, func(t *output.Text) {
		t.Fields(output.Field{Name: "signer", Value: result.Listen},
			output.Field{Name: "health", Value: result.Admin + "/health"}, output.Field{Name: "pin", Value: result.Pin},
			output.Field{Name: "producer", Value: result.Producer},
			output.Field{Name: "signed last", Value: fmt.Sprintf("block %d", result.Height)})
	})
	return server.Serve(command.Context(), accept.Patient(listener, log))
}

// signerSettings identify the signer that has a node's producer key.
type signerSettings struct {
	Signer         string `setting:"signer" usage:"HOST:PORT of the remote signer (cairn signer) that holds the producer's key, instead of a key file"`
	SignerPin      string `setting:"signer-pin" usage:"pin of the signer"`
	SignerProducer string `setting:"signer-producer" usage:"public key of the producer's key held by the signer, 64 hex digits"`
}

// client returns a client of the signer in the settings, for a node with the given data directory, or nil if there is
// no signer.
func (s signerSettings) client(dataDir string) (sequencer.Signer, error) {
	if s.Signer == "" {
		if s.SignerPin != "" || s.SignerProducer != "" {
			return nil, output.Usage(errors.New("--signer-pin and --signer-producer need --signer"))
		}
		return nil, nil
	}
	if err := checkAddress("--signer", s.Signer); err != nil {
		return nil, err
	}
	pin, err := p2p.ParsePin(s.SignerPin)
	if err != nil {
		return nil, output.Usage(fmt.Errorf("--signer-pin: %w", err))
	}
	producer, err := types.ParseBytes32[types.PublicKey](s.SignerProducer)
	if err != nil {
		return nil, output.Usage(fmt.Errorf("--signer-producer: %w", err))
	}
	key := filepath.Join(dataDir, datadir.ProtocolKeyFile)
	if _, err := os.Lstat(key); !errors.Is(err, fs.ErrNotExist) {
		return nil, output.Usage(fmt.Errorf("%s exists although --signer is set: move the key file away, to a safe "+
			"place", key))
	}
	identity, err := datadir.SignerLink(filepath.Join(dataDir, datadir.SignerLinkFile), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, output.Usage(fmt.Errorf("%w: `cairn signer link --data-dir %s` creates it", err, dataDir))
	}
	if err != nil {
		return nil, err
	}
	return &signer.Client{Address: s.Signer, Pin: pin, Identity: identity, Producer: producer}, nil
}
