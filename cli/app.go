package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/terminal"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/config"
	"github.com/cairn-chain/cairn/types"
)

// EnvPrefix is the prefix of the environment variables for settings.
const EnvPrefix = "CAIRN_"

const (
	settingsFile = "cairn.toml"
	keysDir      = "keys"
	// maxSecretFileBytes bounds the size of a file with a password, key or mnemonic.
	maxSecretFileBytes = 4 << 10
)

// location holds the locations of settings and keys. The settings file cannot set them.
type location struct {
	Home   string `setting:"home" usage:"directory of keys and settings (default $XDG_DATA_HOME/cairn or ~/.local/share/cairn)"`
	Config string `setting:"config" usage:"settings file (default: cairn.toml in the home directory, if it exists)"`
}

// settings holds the settings of the client commands.
type settings struct {
	RPCURL       string        `setting:"rpc-url" usage:"URL of the node's JSON-RPC"`
	APIKeyFile   string        `setting:"api-key-file" usage:"file with the API key or JWT for the node"`
	CAFile       string        `setting:"ca-file" usage:"file of CA certificates (PEM) trusted for the node, instead of the system's"`
	Timeout      time.Duration `setting:"timeout" bounds:"0,1ms..24h" usage:"maximum time to wait for the node; 0: no limit"`
	PasswordFile string        `setting:"password-file" usage:"file whose first line is the password of the keystore's key"`
	Network      string        `setting:"network" usage:"mainnet, testnet or regtest"`
	Admin        string        `setting:"admin" usage:"admin address of the node"`
	AdminToken   string        `setting:"admin-token-file" usage:"file with the node's admin token (default: the token of the node in the home directory)"`
	From         string        `setting:"from" usage:"sender: the name of a key, or dev0 to dev9 and devadmin on a development chain"`
}

// DefaultAdminAddr is the default admin address of a node.
const DefaultAdminAddr = "127.0.0.1:8778"

// The settings that most commands accept as flags.
var (
	nodeSettings    = []string{"rpc-url", "api-key-file", "ca-file", "timeout"}
	senderSettings  = append([]string{"from", "password-file"}, nodeSettings...)
	publishSettings = append([]string{"admin", "admin-token-file"}, nodeSettings...)
)

// asker asks the user at the terminal. It fails with terminal.ErrNone without a terminal.
type asker interface {
	Secret(ctx context.Context, question string) (string, error)
	Line(ctx context.Context, question string) (string, error)
}

// app is the state shared by the commands of a root.
type app struct {
	build    Build
	location location
	settings settings
	// Replaceable by tests: the environment, the asker, and the work factor of key encryption.
	environ    func() []string
	asker      asker
	workFactor int
}

func newApp(build Build) *app {
	return &app{build: build, environ: os.Environ, settings: settings{
		RPCURL: defaultRPCURL, Timeout: 2 * time.Minute, Network: string(types.Regtest), Admin: "http://" + DefaultAdminAddr,
	}}
}

// session is a single run of a command.
type session struct {
	*output.Printer
	settings settings
	home     string
	store    *keystore.Store
	client   *client.Client
	tls      *tls.Config // for the node; nil selects the system's certificates
	asker    asker
	terminal bool // whether standard error is a terminal
}

// action implements a command.
type action func(ctx context.Context, s *session, command *cobra.Command, args []string) error

// define completes a command that accepts the named settings as flags; there may be none.
func (a *app) define(command *cobra.Command, settings []string, run action) *cobra.Command {
	a.register(command, settings)
	command.RunE = func(command *cobra.Command, args []string) error {
		s, err := a.start(command)
		if err != nil {
			return output.Usage(err)
		}
		defer s.client.Close()
		return s.explain(command.Context(), run(command.Context(), s, command, args))
	}
	return command
}

// register adds the flags of the named settings to a command.
func (a *app) register(command *cobra.Command, settings []string) {
	config.Register(command.Flags(), &a.location)
	if len(settings) > 0 {
		config.Register(command.Flags(), &a.settings, settings...)
		a.completeSettings(command, settings)
	}
}

// lookUp defines a command that only queries the node.
func (a *app) lookUp(command *cobra.Command, run action) *cobra.Command {
	return a.define(command, nodeSettings, func(
		ctx context.Context, s *session, command *cobra.Command, args []string,
	) error {
		ctx, cancel := s.patience(ctx)
		defer cancel()
		return run(ctx, s, command, args)
	})
}

// patience returns a context that ends when the time limit for the node is over. The time that users take for answers
// does not count.
func (s *session) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.settings.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, s.settings.Timeout)
}

// start loads the settings. All of its errors are usage errors.
func (a *app) start(command *cobra.Command) (*session, error) {
	home, file, err := a.locate(command)
	if err != nil {
		return nil, err
	}
	sources := a.sources(command)
	sources.File = file
	if a.settings.RPCURL == defaultRPCURL {
		a.settings.RPCURL = devNodeURL(a.environ()) // overridden by every setting
	}
	if err := config.Load(&a.settings, sources); err != nil {
		return nil, err
	}
	if types.Network(a.settings.Network).Prefix() == "" {
		return nil, fmt.Errorf("unknown network %q: use mainnet, testnet or regtest", a.settings.Network)
	}
	roots, err := readRoots(a.settings.CAFile)
	if err != nil {
		return nil, err
	}
	s := &session{
		Printer:  PrinterOf(command),
		settings: a.settings,
		home:     home,
		store:    a.open(home),
		tls:      roots,
		asker:    a.asker,
		terminal: terminal.Is(command.ErrOrStderr()),
	}
	if s.asker == nil {
		s.asker = terminal.New(command.InOrStdin(), command.ErrOrStderr())
	}
	if s.client, err = s.another(a.settings.RPCURL); err != nil {
		return nil, fmt.Errorf("the node's URL: %w", err)
	}
	return s, nil
}

// another returns a client of a node, with the credentials and certificates of the settings.
func (s *session) another(url string) (*client.Client, error) {
	options := []client.Option{client.WithRetry(0)} // no retries: a user should see at once that no node is there
	if path := s.settings.APIKeyFile; path != "" {
		key, err := readSecretFile(path)
		if err != nil {
			return nil, err
		}
		options = append(options, client.WithToken(key))
	}
	if s.tls != nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = s.tls
		options = append(options, client.WithTransport(transport))
	}
	return client.New(url, options...)
}

// maxRootsBytes bounds the size of a certificate file: the system's own has a quarter of that.
const maxRootsBytes = 1 << 20

// readRoots returns a TLS configuration that trusts only the certificates of a file, or nil without a file.
func readRoots(path string) (*tls.Config, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	pem, err := io.ReadAll(io.LimitReader(file, maxRootsBytes))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s contains no certificates (PEM)", path)
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// Keystore opens the keystore in a home directory, or in the default one if home is empty, for commands of other
// packages.
func Keystore(home string) *keystore.Store {
	if home = cmp.Or(home, Home(os.Environ())); home == "" {
		return keystore.Open("")
	}
	return keystore.Open(filepath.Join(home, keysDir))
}

// open opens the keystore in the home directory.
func (a *app) open(home string) *keystore.Store {
	store := keystore.Open("")
	if home != "" {
		store = keystore.Open(filepath.Join(home, keysDir))
	}
	if a.workFactor != 0 {
		store.WorkFactor = a.workFactor
	}
	return store
}

// sources returns the sources of a command's settings besides the settings file.
func (a *app) sources(command *cobra.Command) config.Sources {
	return config.Sources{Flags: command.Flags(), Env: EnvPrefix, Environ: a.environ}
}

// locate returns the home directory and the settings file. Each is "" if there is none.
func (a *app) locate(command *cobra.Command) (home, file string, err error) {
	if err := config.Load(&a.location, a.sources(command)); err != nil {
		return "", "", err
	}
	if home = a.location.Home; home == "" {
		home = Home(a.environ())
	}
	if a.location.Config != "" || home == "" {
		return home, a.location.Config, nil
	}
	file = filepath.Join(home, settingsFile)
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return home, "", nil
	}
	return home, file, nil
}

// Home returns the program's directory according to the XDG Base Directory Specification, which ignores relative paths.
// It returns "" if neither XDG_DATA_HOME nor HOME is set.
func Home(environ []string) string {
	for _, variable := range environ {
		if dir, ok := strings.CutPrefix(variable, "XDG_DATA_HOME="); ok && filepath.IsAbs(dir) {
			return filepath.Join(dir, "cairn")
		}
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(user, ".local", "share", "cairn")
}

// chain asks the node for its chain.
func (s *session) chain(ctx context.Context) (argument.Chain, error) {
	info, err := s.client.NodeInfo(ctx)
	return argument.Chain{ID: info.ChainID, Network: info.Network, Genesis: info.GenesisHash}, err
}

// address returns an account's address on the node's network, or "" without an account. If the node does not answer, it
// returns the account in hex.
func (s *session) address(ctx context.Context, account *types.Account) string {
	if account == nil {
		return ""
	}
	chain, err := s.chain(ctx)
	if err != nil {
		return account.String()
	}
	return chain.Network.Address(*account)
}

// account parses an account argument. An unknown account is a usage error.
func (s *session) account(text string) (argument.Account, error) {
	account, err := argument.ParseAccount(s.store, text)
	if errors.Is(err, argument.ErrBadAccount) || errors.Is(err, keystore.ErrNoDirectory) {
		err = output.Usage(err)
	}
	return account, err
}

// password returns the password of an existing key.
func (s *session) password(ctx context.Context, name string) (string, error) {
	if s.settings.PasswordFile != "" {
		password, err := readSecretFile(s.settings.PasswordFile)
		return password, output.Usage(err)
	}
	password, err := s.asker.Secret(ctx, "Password of "+name+": ")
	return password, noTerminal(err, "--password-file")
}

// newPassword returns the password for a new key.
func (s *session) newPassword(ctx context.Context, name string) (string, error) {
	if s.settings.PasswordFile != "" {
		return s.password(ctx, name)
	}
	password, err := s.asker.Secret(ctx, "New password for "+name+": ")
	if err != nil {
		return "", noTerminal(err, "--password-file")
	}
	again, err := s.asker.Secret(ctx, "Repeat the password: ")
	if err != nil {
		return "", err
	}
	if again != password {
		return "", errors.New("the two passwords differ")
	}
	return password, nil
}

// noTerminal turns the lack of a terminal into a usage error that names the flag to use instead.
func noTerminal(err error, flag string) error {
	if errors.Is(err, terminal.ErrNone) {
		return output.Usage(fmt.Errorf("%w: give %s", err, flag))
	}
	return err
}

// readSecretFile returns the first line of a small file.
func readSecretFile(path string) (string, error) {
	text, err := readSecrets(path)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(text, "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", fmt.Errorf("the first line of %s is empty", path)
	}
	return line, nil
}

// readSecrets reads a whole file of secrets.
func readSecrets(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSecretFileBytes+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxSecretFileBytes {
		return "", fmt.Errorf("%s is longer than %d bytes", path, maxSecretFileBytes)
	}
	return string(text), nil
}
