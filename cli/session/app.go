// Package session is one run of a client command: its settings, keystore and node, and the accounts that it names.
package session

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

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/terminal"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/config"
	"github.com/cairn-chain/cairn/types"
)

const (
	settingsFile = "cairn.toml"
	keysDir      = "keys"
	// MaxSecretFileBytes bounds the size of a file with a password, key or mnemonic.
	MaxSecretFileBytes = 4 << 10
)

// Settings holds the settings of the client commands.
type Settings struct {
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
	NodeSettings    = []string{"rpc-url", "api-key-file", "ca-file", "timeout"}
	SenderSettings  = append([]string{"from", "password-file"}, NodeSettings...)
	PublishSettings = append([]string{"admin", "admin-token-file"}, NodeSettings...)
)

// App is the state shared by the commands of a root.
type App struct {
	// location holds the locations of settings and keys. The settings file cannot set them.
	location struct {
		Home   string `setting:"home" usage:"directory of keys and settings (default $XDG_DATA_HOME/cairn or ~/.local/share/cairn)"`
		Config string `setting:"config" usage:"settings file (default: cairn.toml in the home directory, if it exists)"`
	}
	settings Settings
	// Replaceable by tests: the environment, the asker, and the work factor of key encryption.
	Environ    func() []string
	Asker      Asker
	WorkFactor int
}

// NewApp returns the state of a root's commands, with the defaults of all settings.
func NewApp() *App {
	return &App{Environ: os.Environ, settings: Settings{
		RPCURL: defaultRPCURL, Timeout: 2 * time.Minute, Network: string(types.Regtest), Admin: "http://" + DefaultAdminAddr,
	}}
}

// Session is a single run of a command.
type Session struct {
	*output.Printer
	Settings Settings
	Home     string
	Store    *keystore.Store
	Client   *client.Client
	TLS      *tls.Config // for the node; nil selects the system's certificates
	Asker    Asker
	Terminal bool // whether standard error is a terminal
}

// Action implements a command.
type Action func(ctx context.Context, s *Session, command *cobra.Command, args []string) error

// Define completes a command that accepts the named settings as flags; there may be none.
func (a *App) Define(command *cobra.Command, settings []string, run Action) *cobra.Command {
	a.Register(command, settings)
	command.RunE = func(command *cobra.Command, args []string) error {
		s, err := a.Start(command)
		if err != nil {
			return output.Usage(err)
		}
		defer s.Client.Close()
		return s.Explain(command.Context(), run(command.Context(), s, command, args))
	}
	return command
}

// Register adds the flags of the named settings to a command.
func (a *App) Register(command *cobra.Command, settings []string) {
	config.Register(command.Flags(), &a.location)
	if len(settings) > 0 {
		config.Register(command.Flags(), &a.settings, settings...)
		a.completeSettings(command, settings)
	}
}

// LookUp defines a command that only queries the node.
func (a *App) LookUp(command *cobra.Command, run Action) *cobra.Command {
	return a.Define(command, NodeSettings, func(
		ctx context.Context, s *Session, command *cobra.Command, args []string,
	) error {
		ctx, cancel := s.Patience(ctx)
		defer cancel()
		return run(ctx, s, command, args)
	})
}

// Patience returns a context that ends when the time limit for the node is over. The time that users take for answers
// does not count.
func (s *Session) Patience(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.Settings.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, s.Settings.Timeout)
}

// Start loads the settings. All of its errors are usage errors.
func (a *App) Start(command *cobra.Command) (*Session, error) {
	home, file, err := a.locate(command)
	if err != nil {
		return nil, err
	}
	sources := a.sources(command)
	sources.File = file
	if a.settings.RPCURL == defaultRPCURL {
		a.settings.RPCURL = devNodeURL(a.Environ()) // any explicit setting overrides it
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
	s := &Session{
		Printer:  invoke.PrinterOf(command),
		Settings: a.settings,
		Home:     home,
		Store:    a.open(home),
		TLS:      roots,
		Asker:    a.Asker,
		Terminal: terminal.Is(command.ErrOrStderr()),
	}
	if s.Asker == nil {
		s.Asker = terminal.New(command.InOrStdin(), command.ErrOrStderr())
	}
	if s.Client, err = s.Another(a.settings.RPCURL); err != nil {
		return nil, fmt.Errorf("the node's URL: %w", err)
	}
	return s, nil
}

// Another returns a client of a node, with the credentials and certificates of the settings.
func (s *Session) Another(url string) (*client.Client, error) {
	options := []client.Option{client.WithRetry(0)} // no retries: a user should see at once that no node is there
	if path := s.Settings.APIKeyFile; path != "" {
		key, err := ReadSecretFile(path)
		if err != nil {
			return nil, err
		}
		options = append(options, client.WithToken(key))
	}
	if s.TLS != nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = s.TLS
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
func (a *App) open(home string) *keystore.Store {
	store := keystore.Open("")
	if home != "" {
		store = keystore.Open(filepath.Join(home, keysDir))
	}
	if a.WorkFactor != 0 {
		store.WorkFactor = a.WorkFactor
	}
	return store
}

// sources returns the sources of a command's settings besides the settings file.
func (a *App) sources(command *cobra.Command) config.Sources {
	return config.Sources{Flags: command.Flags(), Env: invoke.EnvPrefix, Environ: a.Environ}
}

// locate returns the home directory and the settings file. Each is "" if there is none.
func (a *App) locate(command *cobra.Command) (home, file string, err error) {
	if err := config.Load(&a.location, a.sources(command)); err != nil {
		return "", "", err
	}
	if home = a.location.Home; home == "" {
		home = Home(a.Environ())
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
