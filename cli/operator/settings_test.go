package operator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/config"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/types"
)

// Each documented level logs messages of that level and above, each format in its form; other values are refused.
func TestNewLogger(t *testing.T) {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	for name, least := range levels {
		for _, format := range []string{"text", "json"} {
			var to bytes.Buffer
			log, err := newLogger(&to, name, format)
			if err != nil {
				t.Fatal(err)
			}
			logged := 0
			for _, level := range levels {
				log.Log(context.Background(), level, "a message", "number", 7)
				if level >= least {
					logged++
				}
			}
			lines := strings.Split(strings.TrimSuffix(to.String(), "\n"), "\n")
			if len(lines) != logged {
				t.Errorf("%s: %d lines, want %d", name, len(lines), logged)
			}
			for _, line := range lines {
				var object struct {
					Level, Msg string
					Number     int
				}
				if err := json.Unmarshal([]byte(line), &object); (err == nil) != (format == "json") {
					t.Errorf("%s: %s", format, line)
				}
				if format == "json" && (object.Msg != "a message" || object.Number != 7 || object.Level == "") ||
					format == "text" && !strings.HasSuffix(line, `msg="a message" number=7`) {
					t.Errorf("%s: %s", format, line)
				}
			}
		}
	}
	for _, bad := range [][2]string{{"loud", "text"}, {"", "text"}, {"info", "xml"}, {"info", ""}} {
		if _, err := newLogger(&bytes.Buffer{}, bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), "--log-") {
			t.Errorf("%q: error %v, want an error with %q", bad, err, "--log-")
		}
	}
}

// Proxies must be addresses or networks, and the settings reach the servers.
func TestHTTPSettings(t *testing.T) {
	bad := defaultHTTP()
	bad.TrustedProxy = []string{"proxy.example"}
	if _, err := bad.config(); err == nil || !strings.Contains(err.Error(), "--trusted-proxy") {
		t.Errorf("no proxy: error %v, want an error with %q", err, "--trusted-proxy")
	}
	settings := defaultHTTP()
	settings.TrustedProxy = []string{"10.0.0.0/8", "::1"}
	config, err := settings.config()
	if err != nil || config.MaxMemory != 512<<20 || config.Rate.PerSecond != defaultRate ||
		config.Rate.Burst != 2*defaultRate ||
		!slices.Equal(config.Proxies, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}) {
		t.Errorf("got %+v, error %v", config, err)
	}
}

// Settings that have an effect only on replicas, or only on nodes without state, are refused on other nodes.
func TestFollowSettings(t *testing.T) {
	const trusted = "7:0x0000000000000000000000000000000000000000000000000000000000000001"
	for _, test := range []struct {
		name   string
		change func(*nodeSettings)
		says   string
	}{
		{"a primary", func(*nodeSettings) {}, "genesis file"}, // the setting that is checked next
		{"a primary's verification", func(s *nodeSettings) { s.Verify = "nonsense" }, "--verify"},
		{"a primary without state", func(s *nodeSettings) { s.Verify = verifyStateless }, "--verify stateless"},
		{"a primary at a trusted block", func(s *nodeSettings) { s.TrustedHeader = trusted }, "--trusted-header"},
		{
			"a primary without state at a trusted block",
			func(s *nodeSettings) { s.Verify, s.TrustedHeader = verifyStateless, trusted }, "--verify stateless",
		},
		{
			"an archive without state", func(s *nodeSettings) { s.Mode, s.Verify = "archive", verifyStateless },
			"--verify stateless",
		},
		{
			"a replica of nobody",
			func(s *nodeSettings) { s.Mode, s.Verify, s.TrustedHeader = "replica", verifyStateless, trusted }, "--upstream",
		},
		{"neither primary nor replica", func(s *nodeSettings) { s.Mode = "replicate" }, "--mode"},
		{
			"a primary that is to follow and has no chain", func(s *nodeSettings) { s.Upstream = []string{"http://x"} },
			"--mode replica",
		},
		{
			"an upstream that is no URL", func(s *nodeSettings) { s.Mode, s.Upstream = "replica", []string{"127.0.0.1:8777"} },
			"--upstream",
		},
		{"a genesis file that is not there", func(s *nodeSettings) { s.Genesis = "nowhere.json" }, "--genesis"},
		{
			"a replica's verification",
			func(s *nodeSettings) { s.Mode, s.Verify, s.Upstream = "replica", "nonsense", []string{"http://x"} }, "--verify",
		},
	} {
		settings := nodeSettings{
			baseSettings:      baseSettings{DataDir: t.TempDir()},
			Mode:              "primary",
			Journal:           "async",
			TableMiB:          16,
			MaxUnmerged:       64,
			followSettings:    followSettings{Verify: verifyExecute},
			bootstrapSettings: bootstrapSettings{Bootstrap: fromGenesis},
		}
		test.change(&settings)
		_, err := settings.trusted(settings.Verify)
		if err == nil {
			_, _, err = settings.config(slog.New(slog.DiscardHandler))
		}
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error %v, want an error with %q", test.name, err, test.says)
		}
	}
}

// Only the allowed provers of a node can be selected, and the selected one proves its blocks.
func TestProvers(t *testing.T) {
	upstream := []string{"http://x"}
	for name, test := range map[string]struct {
		provers []string
		want    []string // the default comes first
	}{
		"development": {aloneProvers, []string{proveHere, proveElsewhere, proveOff}},
		"primary":     {nodeSettings{Mode: "primary"}.provers(), []string{proveHere, proveElsewhere, proveOff}},
		"primary's spare": {
			nodeSettings{Mode: "primary", followSettings: followSettings{Upstream: upstream}}.provers(),
			[]string{proveUpstream, proveHere, proveElsewhere, proveOff},
		},
		"replica": {
			nodeSettings{Mode: "replica", followSettings: followSettings{Upstream: upstream}}.provers(),
			[]string{proveUpstream, proveHere, proveElsewhere, proveOff},
		},
		"archive": {
			nodeSettings{Mode: "archive", followSettings: followSettings{Upstream: upstream}}.provers(),
			[]string{proveUpstream, proveHere, proveElsewhere, proveOff},
		},
		"without state": {
			nodeSettings{Mode: "replica", followSettings: followSettings{Upstream: upstream, Verify: verifyStateless}}.provers(),
			[]string{proveOff},
		},
	} {
		for _, prover := range []string{"", proveHere, proveElsewhere, proveUpstream, proveOff, "nobody"} {
			settings := defaultProofs()
			settings.Prove = prover
			var options datadir.Options
			config, err := settings.set(&options, test.provers, false, slog.New(slog.DiscardHandler), "text")
			if ok := prover == "" || slices.Contains(test.want, prover); (err == nil) != ok ||
				!ok && !strings.Contains(err.Error(), "--prove") {
				t.Errorf("%s, %q: error %v", name, prover, err)
			} else if prover = cmp.Or(prover, test.want[0]); ok &&
				(config.Relay != (prover == proveUpstream) || (config.Prove != nil) != (prover == proveHere) ||
					(options.Chain.WitnessBytes > 0) != (prover == proveHere || prover == proveElsewhere)) {
				t.Errorf("%s, %q: got %+v", name, prover, config)
			} else if ok && config.Off != (prover == proveOff) {
				t.Errorf("%s, %q: off is %t", name, prover, config.Off)
			}
		}
	}
}

// A node that may become the producer then proves its blocks, and has the settings for that.
func TestWhoProducesProves(t *testing.T) {
	var options datadir.Options
	config, err := defaultProofs().set(&options, []string{proveUpstream}, true, slog.New(slog.DiscardHandler), "text")
	if err != nil || !config.Relay || config.Prove == nil || options.Chain.WitnessBytes == 0 {
		t.Errorf("%+v, %d bytes of witnesses, error %v", config, options.Chain.WitnessBytes, err)
	}
}

// The settings of contracts become the engine's and the server's.
func TestContractSettings(t *testing.T) {
	var options datadir.Options
	var serving node.Serving
	defaultContracts().set(&options, &serving)
	if options.CodeMemory != 512<<20 || options.CodeDisk != 64<<30 || serving.ViewGas != 200_000_000 {
		t.Errorf("the defaults are %+v, %d", options, serving.ViewGas)
	}
}

// A directory with a chain needs no genesis file: with its key, a former replica becomes the primary as it is.
// --genesis-hash is checked, and no new network starts over the chain.
func TestGenesisOfDirectory(t *testing.T) {
	dir := t.TempDir()
	key, err := crypto.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	network := datadir.NewNetwork{Network: types.Regtest, ChainID: 3, Time: 1, Key: key, Admin: key}
	genesis, err := datadir.InitNetwork(dir, network)
	if err != nil {
		t.Fatal(err)
	}
	d, err := datadir.Open(dir, datadir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(d, node.Config{
		Chain:   datadir.Chain{Genesis: &genesis},
		Role:    role.Solo{Production: role.Production{Key: role.LocalKey(key)}},
		Serving: node.Serving{RPCAddr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0"},
		Log:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{datadir.GenesisFile, datadir.ProtocolKeyFile, datadir.SettingsFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	settings := nodeSettings{baseSettings: baseSettings{DataDir: dir}, Mode: "primary"}
	if _, err := settings.chain(); err != nil {
		t.Error(err)
	}
	if d, err = datadir.Open(dir, datadir.Options{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := settings.genesis(t.Context(), nodeConfig{}, d)
	if err != nil || got.Digest() != genesis.Digest() {
		t.Errorf("genesis %v, error %v, want Digest %v", got, err, genesis.Digest())
	}
	if _, err := settings.key(false); err == nil || !strings.Contains(err.Error(), "--protocol-key") ||
		!strings.Contains(err.Error(), "--mode replica") {
		t.Errorf("without a key: error %v", err)
	}
	settings.GenesisHash = "0x" + strings.Repeat("1", 64)
	if _, err := settings.genesis(t.Context(), nodeConfig{}, d); err == nil ||
		!strings.Contains(err.Error(), "--genesis-hash") {
		t.Errorf("another chain is wanted: error %v", err)
	}
	if _, err := datadir.InitNetwork(dir, network); !errors.Is(err, datadir.ErrExists) {
		t.Errorf("a network over a chain: error %v", err)
	}
}

// The doctor shows the key's owner and the chain, and reports mismatches.
func TestDoctorOfDirectory(t *testing.T) {
	dir := t.TempDir()
	key, err := crypto.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	genesis, err := datadir.InitNetwork(dir, datadir.NewNetwork{Network: types.Regtest, ChainID: 3, Time: 1, Key: key, Admin: key})
	if err != nil {
		t.Fatal(err)
	}
	other := genesis
	other.Time++
	settings := nodeSettings{baseSettings: baseSettings{DataDir: dir}, Mode: "primary"}
	path := filepath.Join(dir, datadir.ProtocolKeyFile)
	if f := checkKey(settings, place{}); f == nil || f.State != stateOK ||
		!strings.Contains(f.Detail, types.Account(key.PublicKey()).String()) {
		t.Errorf("got %+v", f)
	}
	for _, f := range checkDataDir(settings, lookAt(settings)) {
		if f.State == stateProblem {
			t.Errorf("a new network: got %+v", f)
		}
	}
	hash, err := datadir.GenesisHash(other)
	if err != nil {
		t.Fatal(err)
	}
	ofOther := place{Found: datadir.Found{Genesis: &other, Hash: hash}}
	if f := checkGenesis(settings, ofOther); f == nil || f.State != stateProblem || f.Advice == "" {
		t.Errorf("the database is of another chain: got %+v", f)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("1", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := checkKey(settings, place{}); f == nil || f.State != stateWarning || f.Advice == "" {
		t.Errorf("another key: got %+v", f)
	}
	following := settings
	following.Mode, following.ProtocolKey = "replica", path
	if f := checkKey(following, place{}); f == nil || f.State != stateOK {
		t.Errorf("another key of a replica: got %+v", f)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if found := checkDataDir(settings, lookAt(settings)); found[len(found)-1].State != stateProblem {
		t.Errorf("no key: got %+v, want State %v", found, stateProblem)
	}
	settings.DataDir = t.TempDir()
	for _, f := range checkDataDir(settings, lookAt(settings)) {
		if f.State == stateProblem {
			t.Errorf("a directory like a development chain's: got %+v", f)
		}
	}
	settings.DataDir = filepath.Join(dir, "nowhere")
	if found := checkDataDir(settings, lookAt(settings)); found[0].State != stateWarning {
		t.Errorf("no directory: got %+v, want State %v", found, stateWarning)
	}
}

func TestArgumentsThatAreNone(t *testing.T) {
	for command, says := range map[*cobra.Command]string{newNode(): "--data-dir", newInit(): "a directory"} {
		if err := command.Args(command, []string{"./mychain", "more"}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want an error with %q", command.Name(), err, says)
		}
	}
}

// The completion of each setting with a fixed set of words offers these.
func TestChoicesAreAccepted(t *testing.T) {
	command := newNode()
	for setting, words := range choices {
		flag := command.Flags().Lookup(setting)
		if flag == nil {
			t.Errorf("there is no setting %s", setting)
			continue
		}
		for _, word := range words {
			settings := defaultNode()
			settings.DataDir, settings.Upstream = t.TempDir(), []string{"http://127.0.0.1:1"}
			settings.GenesisHash = types.BlockHash{}.String()
			switch setting {
			case "verify", "bootstrap":
				settings.Mode = "replica"
			case "signature-kernel", "hash-kernel": // the processor may lack the feature
				continue
			}
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			config.Register(flags, &settings)
			if err := flags.Set(setting, word); err != nil {
				t.Fatal(err)
			}
			if f := checkSettings(settings, lookAt(settings)); f.State != stateOK {
				t.Errorf("--%s %s: %s", setting, word, f.Detail)
			}
		}
	}
}
