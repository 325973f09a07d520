package main_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/testkit/provenchain"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

// maxVerifierBytes bounds verifier.wasm: 4.9 MB when it was set, of which any program that imports fmt has 2.6 MB.
const maxVerifierBytes = 5_100_000

// testCase is a bundle to be verified.
type testCase struct {
	Name    string `json:"name"`
	Bundle  string `json:"bundle"` // base64
	Range   bool   `json:"range"`  // whether it must be accepted
	Bits    int    `json:"bits"`
	Verdict any    `json:"verdict,omitempty"` // none: to be refused
	Chain   *steps `json:"chain,omitempty"`   // instead of a bundle

	Follow    *following     `json:"follow,omitempty"`    // likewise
	Inclusion *inclusionCase `json:"inclusion,omitempty"` // likewise
}

// steps are proofs that extend a chain, in order, from a trusted block on.
type steps struct {
	Trusted blockRef `json:"trusted"`
	Steps   []step   `json:"steps"`
}

// step is a proof in base64, with the last block of the chain afterwards, or nil if the proof is refused.
type step struct {
	Proof string    `json:"proof"`
	End   *blockRef `json:"end,omitempty"`
}

type blockRef struct {
	Height types.Height    `json:"height"`
	Hash   types.BlockHash `json:"hash"`
}

// chainCases continue from genesis and from a block in the middle, by blocks and as a range. Blocks that do not follow,
// or are changed, are refused in between.
func chainCases(blocks []provenchain.Block, whole blockproof.Range) (all []testCase) {
	ref := func(h types.Height) blockRef { return blockRef{h, whole.Headers[h].Header.Hash()} }
	good := func(encoded []byte, end types.Height) step {
		return step{base64.StdEncoding.EncodeToString(encoded), new(ref(end))}
	}
	bad := func(encoded []byte) step { return step{Proof: base64.StdEncoding.EncodeToString(encoded)} }
	add := func(name string, trusted blockRef, bits int, s ...step) {
		all = append(all, testCase{Name: "a chain: " + name, Bits: bits, Chain: &steps{trusted, s}})
	}
	last, encoded := types.Height(len(blocks)), whole.Encode()
	changed := slices.Clone(encoded)
	changed[len(changed)-1] ^= 1
	add("a range", ref(0), 100, bad(nil), bad(changed), bad(encoded[:1000]), good(encoded, last), bad(encoded))
	add("after another block", blockRef{0, types.BlockHash{1}}, 100, bad(encoded))
	add("too few bits", ref(0), 1000, bad(encoded))
	for from := types.Height(0); from < last; from += 3 {
		var s []step
		for h := from + 1; h <= last; h++ {
			bundle := blocks[h-1].Bundle.Encode()
			changed := slices.Clone(bundle)
			changed[len(changed)/2] ^= 4
			if h < last {
				s = append(s, bad(blocks[h].Bundle.Encode()))
			}
			s = append(s, bad(changed), good(bundle, h), bad(bundle))
		}
		add(fmt.Sprint("from block ", from), ref(from), 100, s...)
	}
	return all
}

// result is the output of testdata/check.js.
type result struct {
	Checked      int       `json:"checked"`
	Problems     []string  `json:"problems"`
	Milliseconds []float64 `json:"milliseconds"` // of each accepted bundle
}

// cases are a chain's bundles with the verdicts of package proof, and bundles that do not hold.
func cases(t *testing.T) (all []testCase) {
	t.Helper()
	add := func(name string, bundle []byte, bits int, verdict any) {
		all = append(all, testCase{
			Name: name, Bundle: base64.StdEncoding.EncodeToString(bundle), Bits: bits, Verdict: verdict,
		})
	}
	blocks := provenchain.Make(t, 100)
	for _, b := range blocks {
		bundle := b.Bundle.Encode()
		start := time.Now()
		verdict, err := proof.Verify(bundle, 100)
		if err != nil {
			t.Fatalf("%s: error %v", b.Name, err)
		}
		t.Logf(
			"%s: %d accesses, a bundle of %d bytes, verified in %v", b.Name, verdict.Accesses, len(bundle), time.Since(start),
		)
		add(b.Name, bundle, 100, verdict)
		if verdict.SecurityBits < 128 {
			add(b.Name+": too few bits", bundle, 128, nil)
		}
		add(b.Name+": of no level", bundle, 1000, nil)
		add(b.Name+": longer", append(slices.Clone(bundle), 0), 100, nil)
		add(b.Name+": cut", bundle[:len(bundle)-1], 100, nil)
		for _, at := range []int{0, 100, len(bundle) / 3, len(bundle) / 2, len(bundle) - 1} {
			changed := slices.Clone(bundle)
			changed[at] ^= 4
			add(b.Name+": a changed bit", changed, 100, nil)
		}
	}
	add("nothing", nil, 100, nil)
	encoded := provenchain.Range(t, 100)
	verdict, err := proof.VerifyRange(encoded.Encode(), 100)
	if err != nil {
		t.Fatal(err)
	}
	add("a range for a block", encoded.Encode(), 100, nil)
	for _, c := range []struct {
		name    string
		bytes   []byte
		bits    int
		verdict any
	}{
		{"a range", encoded.Encode(), 100, verdict},
		{"a range: cut", encoded.Encode()[:1000], 100, nil},
		{"a range: of no level", encoded.Encode(), 1000, nil},
		{"a range: nothing", nil, 100, nil},
	} {
		all = append(all, testCase{
			Name: c.name, Bundle: base64.StdEncoding.EncodeToString(c.bytes), Range: true, Bits: c.bits, Verdict: c.verdict,
		})
	}
	return slices.Concat(all, chainCases(blocks, encoded), followCases(t), inclusionCases(t))
}

// build builds the package into dir as build.sh does and puts testdata beside it.
func build(tb testing.TB, dir string) {
	tb.Helper()
	if out, err := exec.Command("sh", "build.sh", dir).CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		tb.Fatal(err)
	}
}

// buildWithCases builds the package with the cases beside it. It returns the directory, and the number of cases.
func buildWithCases(t *testing.T) (dir string, count int) {
	t.Helper()
	dir = t.TempDir()
	build(t, dir)
	all := cases(t)
	encoded, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cases.json"), encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	size, err := os.Stat(filepath.Join(dir, "verifier.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("verifier.wasm has %d bytes", size.Size())
	if size.Size() > maxVerifierBytes {
		t.Errorf("verifier.wasm has %d bytes, more than %d: something heavy is imported", size.Size(), maxVerifierBytes)
	}
	return dir, len(all)
}

// TestVerifier runs the verifier in Node.js, and in a browser with a page that loads it from a server.
func TestVerifier(t *testing.T) {
	dir, count := buildWithCases(t)
	for name, run := range map[string]func(*testing.T, string) []byte{"node": inNode, "browser": inBrowser} {
		t.Run(name, func(t *testing.T) {
			out := run(t, dir)
			var r result
			if err := json.Unmarshal(out, &r); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, problem := range r.Problems {
				t.Error(problem)
			}
			if r.Checked != count {
				t.Errorf("%d of %d cases were checked", r.Checked, count)
			}
			t.Logf("%d cases; accepted after %.0f ms", r.Checked, r.Milliseconds)
		})
	}
}

func inNode(t *testing.T, dir string) []byte {
	out, err := exec.Command("node", filepath.Join(dir, "node.js")).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

// inBrowser opens the page in Chromium and waits for its result.
func inBrowser(t *testing.T, dir string) []byte {
	results := make(chan []byte, 1)
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServer(http.Dir(dir)))
	mux.HandleFunc("POST /result", func(_ http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		results <- body
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	// The container does not support the browser's sandbox. The page is the test's own.
	browser := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage",
		"--no-first-run", "--user-data-dir="+t.TempDir(), server.URL+"/browser.html")
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- browser.Wait() }()
	select {
	case body := <-results:
		if err := browser.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		<-ended
		return body
	case err := <-ended:
		t.Fatalf("the browser ended: error %v", err)
		return nil
	}
}
