package operator

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/types"
)

// runInit makes a network in a new directory, and returns the command's output.
func runInit(t *testing.T, args ...string) (exit int, out, notes string) {
	t.Helper()
	var printed, said bytes.Buffer
	args = append([]string{"init", filepath.Join(t.TempDir(), "chain"), "--home", t.TempDir()}, args...)
	exit = invoke.Execute(t.Context(), NewRoot(func() error { return nil }), args, invoke.Streams{
		In: new(bytes.Buffer), Out: &printed, Err: &said,
	})
	return exit, printed.String(), said.String()
}

func TestChainIDsDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for range 20 {
		exit, out, notes := runInit(t, "--json")
		var result struct{ Result struct{ ChainID uint64 } }
		if err := json.Unmarshal([]byte(out), &result); exit != 0 || err != nil {
			t.Fatalf("exit code %d, want 0, %v: %s%s", exit, err, out, notes)
		}
		id := result.Result.ChainID
		if id < 1<<32 || id >= 1<<48 || seen[id] {
			t.Fatalf("got chain id %d after %v, want another one from 2^32 to 2^48 − 1", id, seen)
		}
		seen[id] = true
	}
}

func TestChainIDIsExplained(t *testing.T) {
	const why = "The chain id is random"
	if exit, out, notes := runInit(t); exit != 0 || strings.Count(out, why) != 1 {
		t.Errorf("exit code %d, got %q, want it to say once %q\n%s", exit, out, why, notes)
	}
	exit, out, notes := runInit(t, "--chain-id", "77")
	if exit != 0 || strings.Contains(out, why) || !strings.Contains(out, "77") {
		t.Errorf("exit code %d, got %q, want the given chain id and nothing about chance\n%s", exit, out, notes)
	}
	for _, id := range []string{"0", "31337", "9007199254740992"} {
		if exit, out, notes := runInit(t, "--chain-id", id); exit != 2 {
			t.Errorf("chain id %s: got exit code %d, want 2: %s%s", id, exit, out, notes)
		}
	}
}

// Anybody can spend the coins of the public mnemonic's keys, for whatever network the wallet was set.
func TestPublicKeysGetNoCoins(t *testing.T) {
	for _, wallet := range []types.Network{types.Mainnet, types.Regtest} {
		secret, err := keystore.NewSecret(api.DevelopmentMnemonic, wallet, 3)
		if err != nil {
			t.Fatal(err)
		}
		for network, want := range map[types.Network]int{types.Mainnet: 2, types.Testnet: 2, types.Regtest: 0} {
			account := types.Account(secret.Key.PublicKey()).String()
			exit, out, notes := runInit(t, "--network", string(network), "--alloc", account+"=5")
			if exit != want || !strings.Contains(notes, "public") {
				t.Errorf("%s, wallet of %s: got exit code %d and %q, want %d and why\n%s", network, wallet, exit, notes, want, out)
			}
		}
	}
}
