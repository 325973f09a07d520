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

// EnvPrefix begins the names of the environment variables that settings are read from.
const EnvPrefix = "CAIRN_"

const (
	settingsFile = "cairn.toml"
	keysDir      = "keys"
	// maxSecretFileBytes bounds the files that hold one password, key or mnemonic.
	maxSecretFileBytes = 4 << 10
)

// location is where settings and keys are; it cannot be set by the settings file.
type location struct {
	Home   string `setting:"home" usage:"directory of keys and settings (default $XDG_DATA_HOME/cairn or ~/.local/share/cairn)"`
	Config string `setting:"config" usage:"settings file (default cairn.toml in the home directory, where there is one)"`
}

// settings are those of the client commands.
type settings struct {
	RPCURL       string        `setting:"rpc-url" usage:"URL of the node's JSON-RPC"`
	APIKeyFile   string        `setting:"api-key-file" usage:"file with the API key or JWT that the node asks for"`
	CAFile       string        `setting:"ca-file" usage:"file of certificates (PEM) that the node's is checked by, instead of the system's"`
	Timeout      time.Duration `setting:"timeout" bounds:"0,1ms..24h" usage:"the longest that the command waits for the node; 0 is for ever"`
	PasswordFile string        `setting:"password-file" usage:"file whose first line is the password of the keystore's key"`
	Network      string        `setting:"network" usage:"mainnet, testnet or regtest"`
	Admin        string        `setting:"admin" usage:"admin address of the node"`
	AdminToken   string        `setting:"admin-token-file" usage:"file with the node's admin token (default that of the node in the home directory)"`
	From         string        `setting:"from" usage:"the account that sends: a named key, or dev0 to dev9 on a development chain"`
}

// DefaultAdminAddr is where a node's admin address is unless it is told otherwise.
const DefaultAdminAddr = "127.0.0.1:8778"

// The settings that most commands take as flags.
var (
	nodeSettings    = []string{"rpc-url", "api-key-file", "ca-file", "timeout"}
	senderSettings  = append([]string{"from", "password-file"}, nodeSettings...)
	publishSettings = append([]string{"admin", "admin-token-file"}, nodeSettings...)
)

// asker asks the person at the terminal; it fails with terminal.ErrNone where there is none.
type asker interface {
	Secret(ctx context.Context, question string) (string, error)
	Line(ctx context.Context, question string) (string, error)
}

// app is what the commands of one root share.
type app struct {
	build    Build
	location location
	settings settings
	// For tests: what settings are read from, who is asked, how long keys take to encrypt.
	environ    func() []string
	asker      asker
	workFactor int
}

func newApp(build Build) *app {
	return &app{build: build, environ: os.Environ, settings: settings{
		RPCURL: defaultRPCURL, Timeout: 2 * time.Minute, Network: string(types.Regtest), Admin: "http://" + DefaultAdminAddr,
	}}
}

// session is one run of a command.
type session struct {
	*output.Printer
	settings settings
	home     string
	store    *keystore.Store
	client   *client.Client
	tls      *tls.Config // of the node; nil is the system's
	asker    asker
	terminal bool // whether a person sees the standard error
}

// action is what a command does.
type action func(ctx context.Context, s *session, command *cobra.Command, args []string) error

// define makes a command that takes the named settings as flags, none where it names none.
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

// register lets a command take the named settings as flags.
func (a *app) register(command *cobra.Command, settings []string) {
	config.Register(command.Flags(), &a.location)
	if len(settings) > 0 {
		config.Register(command.Flags(), &a.settings, settings...)
		a.completeSettings(command, settings)
	}
}

// lookUp makes a command that only asks the node.
func (a *app) lookUp(command *cobra.Command, run action) *cobra.Command {
	return a.define(command, nodeSettings, func(
		ctx context.Context, s *session, command *cobra.Command, args []string,
	) error {
		ctx, cancel := s.patience(ctx)
		defer cancel()
		return run(ctx, s, command, args)
	})
}

// patience bounds how long the node is waited for from now on. People may take as long as they like.
func (s *session) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.settings.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, s.settings.Timeout)
}

// start loads the settings; all that can go wrong is wrong usage.
func (a *app) start(command *cobra.Command) (*session, error) {
	home, file, err := a.locate(command)
	if err != nil {
		return nil, err
	}
	sources := a.sources(command)
	sources.File = file
	if a.settings.RPCURL == defaultRPCURL {
		a.settings.RPCURL = devNodeURL(a.environ()) // under all that is set
	}
	if err := config.Load(&a.settings, sources); err != nil {
		return nil, err
	}
	if types.Network(a.settings.Network).Prefix() == "" {
		return nil, fmt.Errorf("unknown network %q: it is mainnet, testnet or regtest", a.settings.Network)
	}
	var options []client.Option
	if path := a.settings.APIKeyFile; path != "" {
		key, err := readSecretFile(path)
		if err != nil {
			return nil, err
		}
		options = append(options, client.WithToken(key))
	}
	roots, err := readRoots(a.settings.CAFile)
	if err != nil {
		return nil, err
	}
	if roots != nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = roots
		options = append(options, client.WithTransport(transport))
	}
	options = append(options, client.WithRetry(0)) // whoever types a command sees at once that no node is there
	node, err := client.New(a.settings.RPCURL, options...)
	if err != nil {
		return nil, fmt.Errorf("the node's URL: %w", err)
	}
	s := &session{
		Printer:  PrinterOf(command),
		settings: a.settings,
		home:     home,
		store:    a.open(home),
		client:   node,
		tls:      roots,
		asker:    a.asker,
		terminal: terminal.Is(command.ErrOrStderr()),
	}
	if s.asker == nil {
		s.asker = terminal.New(command.InOrStdin(), command.ErrOrStderr())
	}
	return s, nil
}

// maxRootsBytes bounds a file of certificates: the system's own has a quarter of that.
const maxRootsBytes = 1 << 20

// readRoots trusts the certificates of a file, and no others; nil where there is no file.
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
		return nil, fmt.Errorf("%s has no certificates (PEM)", path)
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// Keystore opens the keystore of a home directory, or of the default one where home is empty, for the commands that
// come from elsewhere.
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

// sources are where a command's settings come from beside a file.
func (a *app) sources(command *cobra.Command) config.Sources {
	return config.Sources{Flags: command.Flags(), Env: EnvPrefix, Environ: a.environ}
}

// locate finds the home directory and the settings file, each "" where there is none.
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

// Home is the program's directory by the XDG Base Directory Specification, in which relative paths are invalid; empty
// where there is neither XDG_DATA_HOME nor HOME.
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

// chain asks the node which chain it is on.
func (s *session) chain(ctx context.Context) (argument.Chain, error) {
	info, err := s.client.NodeInfo(ctx)
	return argument.Chain{ID: info.ChainID, Network: info.Network, Genesis: info.GenesisHash}, err
}

// account reads an account argument; one that is unknown is wrong usage.
func (s *session) account(text string) (argument.Account, error) {
	account, err := argument.ParseAccount(s.store, text)
	if errors.Is(err, argument.ErrBadAccount) || errors.Is(err, keystore.ErrNoDirectory) {
		err = output.Usage(err)
	}
	return account, err
}

// password is the password of a key that exists.
func (s *session) password(ctx context.Context, name string) (string, error) {
	if s.settings.PasswordFile != "" {
		password, err := readSecretFile(s.settings.PasswordFile)
		return password, output.Usage(err)
	}
	password, err := s.asker.Secret(ctx, "Password of "+name+": ")
	return password, noTerminal(err, "--password-file")
}

// newPassword is the password for a key that is made.
func (s *session) newPassword(ctx context.Context, name string) (string, error) {
	if s.settings.PasswordFile != "" {
		return s.password(ctx, name)
	}
	password, err := s.asker.Secret(ctx, "New password for "+name+": ")
	if err != nil {
		return "", noTerminal(err, "--password-file")
	}
	again, err := s.asker.Secret(ctx, "The same again: ")
	if err != nil {
		return "", err
	}
	if again != password {
		return "", errors.New("the two passwords differ")
	}
	return password, nil
}

// noTerminal makes the lack of a terminal wrong usage, and says which flag answers the question instead.
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

// readSecrets reads a file of secrets whole.
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
