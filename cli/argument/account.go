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

// ErrBadAccount is what resolving an account fails with, wrapped.
var ErrBadAccount = errors.New("bad account")

// developmentPrefix begins the names of the development accounts, dev0 to dev9: the first ten of
// api.DevelopmentMnemonic, on chain id 31337.
const developmentPrefix = "dev"

// Chain is what an account depends on of the chain that it is meant for.
type Chain struct {
	ID      uint64
	Network types.Network
	Genesis types.BlockHash // zero for one that is not made yet
}

// Account is an account as an argument named it.
type Account struct {
	ID types.Account
	// Text is the argument.
	Text string
	// Network is that of an address or of a named account; empty for a hex key, which has none.
	Network types.Network
	// Name is that of a key or alias of the keystore; empty for all else.
	Name string
	// chain is that of a named contract; nil for all else.
	chain *keystore.Chain
	// kind is that of a named one.
	kind keystore.Kind
	// key is that of a development account.
	key *crypto.PrivateKey
}

// IsName tells whether a text has the form of a key's, alias's or development account's name.
func IsName(text string) bool {
	_, development := developmentIndex(text)
	return development || keystore.CheckName(text) == nil
}

// ParseAccount reads an account argument: a taproot address, a public key in hex, the name of a key or alias of the
// keystore, or a development account. Whether it belongs to a chain is for [Account.On] to say.
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
	// What is no address is hex, for which the network does not matter.
	account, err := types.Regtest.ParseAccount(text)
	if err != nil {
		return Account{}, fmt.Errorf("%w: %q %s", ErrBadAccount, text, wrongAddress(text))
	}
	return Account{ID: account, Text: text}, nil
}

// wrongAddress says what is wrong with a text that is no account.
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

// On returns an error that wraps [ErrBadAccount] unless the account can be used on a chain. An address or a named
// account of another network was meant for another chain, and so was a named contract of another genesis.
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

// Key is the account's private key: a development account's, or one of the keystore, whose password is asked for by
// its name.
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

// CanSign returns an error that wraps [ErrBadAccount] unless the account has a private key here.
func (a Account) CanSign() error {
	switch {
	case a.key != nil, a.kind == keystore.KindKey:
		return nil
	case a.kind == keystore.KindAlias:
		return fmt.Errorf("%w: %s is an alias, which has no private key", ErrBadAccount, a.Text)
	}
	return fmt.Errorf("%w: there is no private key for %s here, name a key of the keystore", ErrBadAccount, a.Text)
}

// developmentIndex is the index of dev0 to dev9.
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

// DevelopmentNames are the names of the development accounts.
func DevelopmentNames() []string {
	names := make([]string, 10)
	for i := range names {
		names[i] = developmentPrefix + strconv.Itoa(i)
	}
	return names
}
