package testkit

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/wallet"
)

const mnemonic = "test test test test test test test test test test test junk"

type walletVectors struct {
	Mnemonic string             `json:"mnemonic"`
	Seed     bytesHex           `json:"seed"`
	Steps    []derivationVector `json:"derivation_of_account_0"`
	Tweak    tweakVector        `json:"tweak_of_account_0"`
	Regtest  []keyVector        `json:"accounts_of_testnet_and_regtest"`
	Mainnet  []keyVector        `json:"accounts_of_mainnet"`
}

type derivationVector struct {
	Path       string   `json:"path"`
	PrivateKey bytesHex `json:"private_key"`
	ChainCode  bytesHex `json:"chain_code"`
}

func newDerivationVector(path string, e extendedKey) derivationVector {
	return derivationVector{path, e.key[:], e.chainCode[:]}
}

type tweakVector struct {
	InternalPublicKey bytesHex `json:"internal_public_key"`
	Tweak             bytesHex `json:"tweak"`
	PrivateKey        bytesHex `json:"private_key"`
	PublicKey         bytesHex `json:"public_key"`
}

type keyVector struct {
	Path       string            `json:"path"`
	PrivateKey bytesHex          `json:"private_key"`
	PublicKey  bytesHex          `json:"public_key"`
	Addresses  map[string]string `json:"addresses"`
}

const hardened = 1 << 31

// walletSection takes its keys from package wallet and checks each against the naive derivation.
func walletSection(t *testing.T, regtest [10]crypto.PrivateKey) walletVectors {
	t.Helper()
	seed := naiveSeed(t, mnemonic)
	projectSeed, err := wallet.SeedFromMnemonic(mnemonic, "")
	if err != nil || !bytes.Equal(seed, projectSeed) {
		t.Fatalf("seed %x, naively %x, error %v", projectSeed, seed, err)
	}
	w := walletVectors{Mnemonic: mnemonic, Seed: seed}

	key, path := naiveMaster(seed), "m"
	w.Steps = append(w.Steps, newDerivationVector(path, key))
	for _, step := range []struct {
		name  string
		index uint32
	}{{"86'", hardened + 86}, {"1'", hardened + 1}, {"0'", hardened}, {"0", 0}, {"0", 0}} {
		key = key.child(step.index)
		path += "/" + step.name
		w.Steps = append(w.Steps, newDerivationVector(path, key))
	}
	last := [32]byte(w.Steps[len(w.Steps)-1].PrivateKey)
	_, internal := evenSecret(last)
	tweak, private := naiveTweak(last)
	_, public := evenSecret(private)
	w.Tweak = tweakVector{internal[:], tweak[:], private[:], public[:]}

	for i, k := range regtest {
		w.Regtest = append(w.Regtest, accountVector(t, seed, 1, i, k, types.Testnet, types.Regtest))
		mainnet, err := wallet.DeriveBIP86(seed, types.Mainnet.CoinType(), 0, 0, uint32(i))
		if err != nil {
			t.Fatal(err)
		}
		w.Mainnet = append(w.Mainnet, accountVector(t, seed, 0, i, mainnet, types.Mainnet))
	}
	return w
}

func accountVector(
	t *testing.T, seed []byte, coin, index int, key crypto.PrivateKey, networks ...types.Network,
) keyVector {
	t.Helper()
	naive := naiveMaster(seed)
	for _, number := range []uint32{hardened + 86, hardened + uint32(coin), hardened, 0, uint32(index)} {
		naive = naive.child(number)
	}
	_, private := naiveTweak(naive.key)
	_, public := evenSecret(private)
	if private != key.Bytes() || public != key.PublicKey() {
		t.Fatalf("coin %d, account %d: key %x, naively %x", coin, index, key.Bytes(), private)
	}
	v := keyVector{
		Path: fmt.Sprintf("m/86'/%d'/0'/0/%d", coin, index), PrivateKey: private[:], PublicKey: public[:],
		Addresses: map[string]string{},
	}
	for _, n := range networks {
		v.Addresses[string(n)] = n.Address(public)
	}
	return v
}
