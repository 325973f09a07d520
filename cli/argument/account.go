package argument

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/crypto/bech32m"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/wallet"
)

// ErrBadAccount is returned, wrapped, if an account cannot be resolved.
var ErrBadAccount = errors.New("bad account")

// The names of the development accounts, on chain ID 31337: dev0 to dev9 are the first ten of api.DevelopmentMnemonic, and
// devadmin, its second change address, is the admin of `cairn dev`.
const (
	developmentPrefix = "dev"
	developmentAdmin  = developmentPrefix + "admin"
)

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
	// Kind is the kind of the keystore's entry; empty without one.
	Kind keystore.Kind
	// Policy is the policy of the keystore's entry, whose hash the account is; nil without one.
	Policy *types.Policy
	// chain is the chain of a named contract; otherwise nil.
	chain *keystore.Chain
	// key is the private key of a development account, or one from a file.
	key *crypto.PrivateKey
	// development says that the account is known on development chains only.
	development bool
}

// IsName reports whether a text has the form of the name of a key, alias or development account.
func IsName(text string) bool {
	return slices.Contains(DevelopmentNames(), text) || keystore.CheckName(text) == nil
}

// ParseAccount parses an account argument: a taproot address, a public key in hex, the name of a key or alias in the
// keystore, or a development account. [Account.On] checks whether it belongs to a chain.
func ParseAccount(store *keystore.Store, text string) (Account, error) {
	if slices.Contains(DevelopmentNames(), text) {
		key, err := developmentKey(text)
		if err != nil {
			return Account{}, err
		}
		return Account{ID: key.PublicKey(), Text: text, Network: types.Regtest, key: &key, development: true}, nil
	}
	if keystore.CheckName(text) == nil {
		entry, err := store.Find(text)
		if errors.Is(err, keystore.ErrNotFound) {
			return Account{}, fmt.Errorf("%w: there is no key or alias %q in %s", ErrBadAccount, text, store.Dir())
		}
		if err != nil {
			return Account{}, err
		}
		return fromEntry(entry)
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

// OfKey returns the account of a private key, which text names in messages.
func OfKey(key crypto.PrivateKey, text string) Account {
	return Account{ID: key.PublicKey(), Text: text, key: &key}
}

// fromEntry returns the account of an entry of the keystore.
func fromEntry(entry keystore.Entry) (Account, error) {
	account := Account{
		ID: entry.Account, Text: entry.Name, Network: entry.Network, Name: entry.Name, Kind: entry.Kind, chain: entry.Chain,
	}
	if entry.Kind.HasPolicy() {
		policy, err := entry.ReadPolicy()
		if err != nil {
			return Account{}, err
		}
		account.Policy = &policy
	}
	return account, nil
}

// wrongAddress explains why a text is not a valid account.
func wrongAddress(text string) string {
	for _, network := range types.Networks() {
		if !strings.HasPrefix(strings.ToLower(text), network.Prefix()+"1") {
			continue
		}
		if want := len(network.Address(types.Account{})); len(text) != want {
			return fmt.Sprintf("is not an address: an address of %s has %d characters, not %d", network, want, len(text))
		}
		at := bech32m.Locate(text)
		if len(at) == 0 {
			return "is not an address: its checksum does not match"
		}
		places := make([]string, len(at))
		for i, place := range at {
			places[i] = fmt.Sprintf("%d, %q", place+1, text[place])
		}
		return "has a typing error: look at character " + strings.Join(places, " and ")
	}
	return "is neither an address, a public key in hex nor a name"
}

// On returns an error that wraps [ErrBadAccount] unless the account can be used on a chain. An address or named account
// of another network is meant for another chain, and so is a named contract of another genesis.
func (a Account) On(chain Chain) error {
	if a.development && chain.ID != api.DevelopmentChainID {
		return fmt.Errorf("%w: %s is known only on chain id %d, and the node has chain id %d",
			ErrBadAccount, a.Text, uint64(api.DevelopmentChainID), chain.ID)
	}
	if a.Network != "" && a.Network != chain.Network {
		return fmt.Errorf("%w: %s belongs to %s, and the node is on %s (addresses %s1…)",
			ErrBadAccount, a.Text, a.Network, chain.Network, chain.Network.Prefix())
	}
	if a.chain != nil && *a.chain != (keystore.Chain{ID: chain.ID, Genesis: chain.Genesis}) {
		return fmt.Errorf("%w: %s names a contract on another chain (chain id %d, genesis %s) than the node's "+
			"(genesis %s); if that chain no longer exists, run cairn keys delete %s",
			ErrBadAccount, a.Text, a.chain.ID, a.chain.Genesis, chain.Genesis, a.Text)
	}
	return nil
}

// IsHex reports whether the account was given in hex, which has no checksum.
func (a Account) IsHex() bool { return a.Network == "" }

// IsKey reports whether the account is known to be the key of a private key.
func (a Account) IsKey() bool { return a.key != nil || a.Kind == keystore.KindKey }

// Secret returns the account's private key, of a development account or from the keystore. For the latter it calls
// password with the name of the key.
func (a Account) Secret(
	store *keystore.Store, password func(name string) (string, error),
) (keystore.Secret, error) {
	if a.key != nil {
		return keystore.Secret{Key: *a.key}, nil
	}
	secret, err := password(a.Name)
	if err != nil {
		return keystore.Secret{}, err
	}
	return store.Unlock(a.Name, secret)
}

// CanSign returns an error that wraps [ErrBadAccount] unless the account has a private key or a policy on this machine.
func (a Account) CanSign() error {
	switch {
	case a.key != nil, a.Kind.HasSecret(), a.Kind == keystore.KindPolicy:
		return nil
	case a.Kind == keystore.KindAlias:
		return fmt.Errorf("%w: %s is an alias, which has no private key", ErrBadAccount, a.Text)
	}
	return fmt.Errorf("%w: the keystore has no private key for %s; give the name of a key", ErrBadAccount, a.Text)
}

// developmentKey returns the key of a development account.
func developmentKey(name string) (crypto.PrivateKey, error) {
	seed, err := wallet.SeedFromMnemonic(api.DevelopmentMnemonic, "")
	if err != nil {
		return crypto.PrivateKey{}, err
	}
	change, index := uint32(0), uint32(name[len(developmentPrefix)]-'0')
	if name == developmentAdmin {
		change, index = 1, 1
	}
	return wallet.DeriveBIP86(seed, types.Regtest.CoinType(), 0, change, index)
}

// DevelopmentNames returns the names of the development accounts.
func DevelopmentNames() []string {
	names := make([]string, 10, 11)
	for i := range names {
		names[i] = developmentPrefix + strconv.Itoa(i)
	}
	return append(names, developmentAdmin)
}
