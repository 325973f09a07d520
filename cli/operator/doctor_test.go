package operator

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

// All problems with the settings are reported at once; correct settings have none.
func TestDoctorChecksSettings(t *testing.T) {
	unreadable := filepath.Join(t.TempDir(), "nothing")
	for _, test := range []struct {
		name   string
		change func(*nodeSettings)
		says   []string // nil where the settings are fine
	}{
		{"the defaults", func(*nodeSettings) {}, nil},
		{"a mode", func(s *nodeSettings) { s.Mode = "leader" }, []string{"--mode", "--upstream"}},
		{"a replica of nobody", func(s *nodeSettings) { s.Mode = "replica" }, []string{"--upstream"}},
		{
			"a replica of any chain", func(s *nodeSettings) { s.Mode, s.Upstream = "replica", []string{"http://127.0.0.1:1"} },
			[]string{"the chain to follow is unknown"},
		},
		{"a hash that is none", func(s *nodeSettings) {
			s.Mode, s.Upstream, s.GenesisHash = "replica", []string{"http://127.0.0.1:1"}, "0x12"
		}, []string{"--genesis-hash"}},
		{
			"no certificates of upstreams",
			func(s *nodeSettings) { s.Upstream, s.UpstreamCAFile = []string{"http://127.0.0.1:1"}, unreadable },
			[]string{unreadable},
		},
		{"an archive that forgets", func(s *nodeSettings) { s.Mode, s.Retention = "archive", 5 }, []string{"--retention"}},
		{
			"pairs", func(s *nodeSettings) { s.MaxConnections, s.UpstreamCAFile = 1, unreadable },
			[]string{"--upstream-ca-file"},
		},
		{"words", func(s *nodeSettings) { s.LogLevel, s.HashKernel = "loud", "abacus" }, []string{"--log-level", "abacus"}},
		{
			"beginnings", func(s *nodeSettings) { s.Bootstrap, s.TrustedHeader = "anywhere", "7" },
			[]string{"--bootstrap", "--trusted-header"},
		},
		{"half of TLS", func(s *nodeSettings) { s.TLSCert = unreadable }, []string{"TLS"}},
		{"no files", func(s *nodeSettings) { s.APIKeyFile, s.JWTSecretFile = unreadable, unreadable }, []string{unreadable}},
		{"no TLS files", func(s *nodeSettings) { s.TLSCert, s.TLSKey = unreadable, unreadable }, []string{unreadable}},
	} {
		settings := defaultNode()
		settings.DataDir = t.TempDir()
		test.change(&settings)
		got := checkSettings(settings, lookAt(settings))
		if want := map[bool]string{true: stateOK, false: stateProblem}[test.says == nil]; got.State != want {
			t.Errorf("%s: got %+v, want State %v", test.name, got, want)
		}
		for _, word := range test.says {
			if !strings.Contains(got.Detail, word) {
				t.Errorf("%s: %q does not say %q", test.name, got.Detail, word)
			}
		}
	}
}

// Doctor asks each upstream. A silent one is a problem only if it is the only one; one of another chain always is.
func TestDoctorAsksUpstreams(t *testing.T) {
	genesis := types.BlockHash{1}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, err := fmt.Fprintf(
			w,
			`{"jsonrpc":"2.0","id":1,"result":{"version":"9.9","mode":"primary","block_height":17,"genesis_hash":%q}}`,
			genesis.String(),
		)
		if err != nil {
			t.Error(err)
		}
	}))
	defer upstream.Close()
	silent := httptest.NewServer(http.NotFoundHandler())
	silent.Close()
	for _, test := range []struct {
		name      string
		upstreams []string
		chain     types.BlockHash
		want      []string
	}{
		{"one", []string{upstream.URL}, genesis, []string{stateOK}},
		{"of another chain", []string{upstream.URL, upstream.URL}, types.BlockHash{2}, []string{stateProblem, stateProblem}},
		{"a silent one", []string{silent.URL}, genesis, []string{stateProblem}},
		{"a silent one of two", []string{silent.URL, upstream.URL}, genesis, []string{stateWarning, stateOK}},
		{"none", nil, genesis, nil},
	} {
		settings := defaultNode()
		settings.DataDir, settings.Mode, settings.Upstream, settings.GenesisHash = t.TempDir(), "replica", test.upstreams,
			test.chain.String()
		findings := checkUpstreams(t.Context(), settings, lookAt(settings))
		if len(findings) != len(test.want) {
			t.Fatalf("%s: got %+v", test.name, findings)
		}
		for i, f := range findings {
			if f.State != test.want[i] || f.State == stateOK && f.Detail != "primary at block 17, version 9.9" {
				t.Errorf("%s: %+v, want %s", test.name, f, test.want[i])
			}
		}
	}
}

// Unless a setting names the chain to follow, it is the chain of the genesis file.
func TestDoctorKnowsTheChain(t *testing.T) {
	settings := defaultNode()
	settings.DataDir, settings.Mode, settings.Upstream = t.TempDir(), "replica", []string{"http://127.0.0.1:1"}
	if follow, _, err := settings.followedChain(lookAt(settings)); follow == nil || err == nil ||
		err.Error() != errWhichChain.Error() {
		t.Errorf("without a file: got %v, error %v", follow, err)
	}
	key, err := crypto.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	genesis, err := datadir.InitNetwork(settings.DataDir, datadir.NewNetwork{
		Network: types.Regtest, ChainID: 3, Time: 1_700_000_000_000, Key: key, Admin: key,
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := datadir.GenesisHash(genesis)
	if err != nil {
		t.Fatal(err)
	}
	if follow, chain, err := settings.followedChain(lookAt(settings)); follow == nil || err != nil ||
		chain != want {
		t.Errorf("%v, %s, %v; want %s", follow, chain, err, want)
	}
}

// Root can read every file, so the message warns that the node's user may not.
func TestDoctorOfRoot(t *testing.T) {
	if got := checkUser(0); len(got) != 1 || got[0].State != stateWarning || !strings.Contains(got[0].Detail, "not checked") {
		t.Errorf("root: got %+v, want a warning of what is not checked", got)
	}
	if got := checkUser(1000); got != nil {
		t.Errorf("another user: got %+v, want nothing", got)
	}
}
