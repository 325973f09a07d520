package argument

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/crypto/bech32m"
	"github.com/cairn-chain/cairn/types"
)

// ErrBadAccount is returned, wrapped, if an account cannot be resolved.
var ErrBadAccount = errors.New("bad account")

// developmentPrefix begins the names of the development accounts dev0 to dev9: the first ten of
// api.DevelopmentMnemonic, on chain ID 31337.
const developmentPrefix = "dev"

// Chain holds the properties of a chain that determine which accounts are valid on it.
type Chain struct {
	ID      uint64
	Network types.Network
	Genesis types.BlockHash // zero for a chain that does not exist yet
}

// Account is an account given as an argument.
type Account struct {
	ID types.Account
	// Text is the argument as given.
	Text string
	// Network is the network of an address or a named account; empty for a hex key.
	Network types.Network
	// Name is the name of a key or alias in the keystore, if any.
	Name string
	// chain is the chain of a named contract; otherwise nil.
	chain *keystore.Chain
	// kind is the kind of a keystore entry.
	kind keystore.Kind
	// key is the private key of a development account.
	key *crypto.PrivateKey
}

// IsName reports whether a text has the form of the name of a key, alias or development account.
func IsName(text string) bool {
	_, development := developmentIndex(text)
	return development || keystore.CheckName(text) == nil
}

// ParseAccount parses an account argument: a taproot address, a public key in hex, the name of a key or alias in the
// keystore, or a development account. [Account.On] checks whether it belongs to a chain.
func ParseAccount(store *keystore.Store, text string) (Account, error) {
	if index, ok := developmentIndex(text); ok {
		key, err := developmentKey(index)
		if err != nil {
			return Account{}, err
		}
		return Account{ID: key.PublicKey(), Text: text, Network: types.Regtest, key: &key}, nil
	}
	if keystore.CheckName(text) == nil {
		entry, err := store.Find(text)
		if errors.Is(err, keystore.ErrNotFound) {
			return Account{}, fmt.Errorf("%w: there is no key or alias %q in %s", ErrBadAccount, text, store.Dir())
		}
		return Account{
			ID:      entry.Account,
			Text:    text,
			Network: entry.Network,
			Name:    text,
			kind:    entry.Kind,
			chain:   entry.Chain,
		}, err
	}
	if network, account, err := types.ParseAddress(text); err == nil {
		return Account{ID: account, Text: text, Network: network}, nil
	}
	// Not an address, so it is hex, and the network does not matter.
	account, err := types.Regtest.ParseAccount(text)
	if err != nil {
		return Account{}, fmt.Errorf("%w: %q %s", ErrBadAccount, text, wrongAddress(text))
	}
	return Account{ID: account, Text: text}, nil
}

// wrongAddress explains why a text is not a valid account.
func wrongAddress(text string) string {
	for _, network := range types.Networks() {
		if !strings.HasPrefix(strings.ToLower(text), network.Prefix()+"1") {
			continue
		}
		if want := len(network.Address(types.Account{})); len(text) != want {
			return fmt.Sprintf("is no address: one of %s has %d characters, not %d", network, want, len(text))
		}
		at := bech32m.Locate(text)
		if len(at) == 0 {
			return "is no address: its checksum does not match"
		}
		places := make([]string, len(at))
		for i, place := range at {
			places[i] = fmt.Sprintf("%d, %q", place+1, text[place])
		}
		return "has a typing error: look at character " + strings.Join(places, " and ")
	}
	return "is no address, no public key in hex and no name"
}

// On returns an error that wraps [ErrBadAccount] unless the account can be used on a chain. An address or named account
// of another network is meant for another chain, and so is a named contract of another genesis.
func (a Account) On(chain Chain) error {
	if a.key != nil && chain.ID != api.DevelopmentChainID {
		return fmt.Errorf("%w: %s is known on chain id %d only, and the node's is %d",
			ErrBadAccount, a.Text, uint64(api.DevelopmentChainID), chain.ID)
	}
	if a.Network != "" && a.Network != chain.Network {
		return fmt.Errorf("%w: %s belongs to %s, and the node is on %s (addresses %s1…)",
			ErrBadAccount, a.Text, a.Network, chain.Network, chain.Network.Prefix())
	}
	if a.chain != nil && *a.chain != (keystore.Chain{ID: chain.ID, Genesis: chain.Genesis}) {
		return fmt.Errorf("%w: %s names a contract of another chain (chain id %d, genesis %s), and the node's has %s;"+
			" if that chain is gone: cairn keys delete %s",
			ErrBadAccount, a.Text, a.chain.ID, a.chain.Genesis, chain.Genesis, a.Text)
	}
	return nil
}

// Key returns the account's private key, of a development account or from the keystore. For the latter it calls
// password with the name of the key.
func (a Account) Key(store *keystore.Store, password func(name string) (string, error)) (crypto.PrivateKey, error) {
	if a.key != nil {
		return *a.key, nil
	}
	secret, err := password(a.Name)
	if err != nil {
		return crypto.PrivateKey{}, err
	}
	unlocked, err := store.Unlock(a.Name, secret)
	return unlocked.Key, err
}

// CanSign returns an error that wraps [ErrBadAccount] unless the account has a private key on this machine.
func (a Account) CanSign() error {
	switch {
	case a.key != nil, a.kind == keystore.KindKey:
		return nil
	case a.kind == keystore.KindAlias:
		return fmt.Errorf("%w: %s is an alias, which has no private key", ErrBadAccount, a.Text)
	}
	return fmt.Errorf("%w: there is no private key for %s here, name a key of the keystore", ErrBadAccount, a.Text)
}

// developmentIndex returns the index in a name from dev0 to dev9.
func developmentIndex(text string) (uint32, bool) {
	digit, ok := strings.CutPrefix(text, developmentPrefix)
	if !ok || len(digit) != 1 || digit[0] < '0' || digit[0] > '9' {
		return 0, false
	}
	return uint32(digit[0] - '0'), true
}

func developmentKey(index uint32) (crypto.PrivateKey, error) {
	secret, err := keystore.NewSecret(api.DevelopmentMnemonic, types.Regtest, index)
	return secret.Key, err
}

// DevelopmentNames returns the names of the development accounts.
func DevelopmentNames() []string {
	names := make([]string, 10)
	for i := range names {
		names[i] = developmentPrefix + strconv.Itoa(i)
	}
	return names
}
