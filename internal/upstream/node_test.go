package upstream

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestBundleOfANode has a node without a bundle: the client waits only if the node says that it will come.
func TestBundleOfANode(t *testing.T) {
	stored := &jsonrpc.Error{
		Code:    api.CodeProofNotReady,
		Message: "not stored",
		Data:    map[string]any{"reason": "proof_not_stored", "oldest": 3, "newest": 9},
	}
	for _, test := range []struct {
		name   string
		status int
		why    error
		holds  func(error) bool
	}{
		{
			"to come", http.StatusNotFound, api.ErrProofNotReady,
			func(err error) bool { return errors.Is(err, replica.ErrNotProven) },
		},
		{"not stored", http.StatusNotFound, stored, func(err error) bool {
			var none *replica.NoProof
			var fault *replica.FaultError
			return errors.As(err, &none) && *none == (replica.NoProof{Height: 7, Stored: true, Oldest: 3, Newest: 9}) &&
				errors.As(err, &fault) && fault.Cause == replica.Stalled
		}},
		{"none at all", http.StatusNotFound, api.ErrProofNotStored, func(err error) bool {
			var none *replica.NoProof
			return errors.As(err, &none) && !none.Stored
		}},
		{"busy", http.StatusServiceUnavailable, nil, func(err error) bool {
			return errors.As(err, new(*client.StatusError)) && !errors.Is(err, replica.ErrNotProven)
		}},
		{"too large", http.StatusOK, nil, func(err error) bool {
			return errors.Is(err, client.ErrTooLarge) && !errors.Is(err, replica.ErrNotProven)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rpc, err := jsonrpc.NewServer(jsonrpc.Options{}, jsonrpc.NewMethod(api.GetProof.Name, func(
				context.Context, api.GetProofParams,
			) (api.BlockProof, error) {
				return api.BlockProof{}, test.why
			}))
			check(t, err)
			mux := http.NewServeMux()
			mux.Handle("POST /", rpc)
			mux.HandleFunc("GET /proof/7", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				if _, err := io.WriteString(w, "bundle"); err != nil {
					t.Error(err)
				}
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			source, err := New(server.URL)
			check(t, err)
			defer source.Close()
			if _, err := source.Bundle(t.Context(), 7, 5); !test.holds(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestHeadersOfANode gets the headers up to a block from a node that keeps only some, and returns a few at a time.
func TestHeadersOfANode(t *testing.T) {
	const oldest = 30
	header := func(h types.Height) types.SignedHeader { return types.SignedHeader{Header: types.Header{Height: h}} }
	blocks := func(_ context.Context, p api.GetBlocksParams) (items api.BlockItems, err error) {
		if p.Range.From < oldest {
			return nil, jsonrpc.NewError(api.CodePruned, "pruned", "reason", "pruned", "oldestHeight", types.Height(oldest))
		}
		for h := p.Range.From; h <= p.Range.To && len(items) < api.MaxBlocks; h++ {
			items = append(items, api.BlockItem{Raw: header(h).Encode()})
		}
		return items, nil
	}
	rpc, err := jsonrpc.NewServer(jsonrpc.Options{}, jsonrpc.NewMethod(api.GetBlocks.Name, blocks))
	check(t, err)
	server := httptest.NewServer(rpc)
	defer server.Close()
	source, err := New(server.URL)
	check(t, err)
	defer source.Close()
	for _, test := range []struct{ to, from types.Height }{
		{300, 300 - api.MaxBlocks + 1}, {280, oldest}, {oldest, oldest},
	} {
		headers, err := source.Headers(t.Context(), test.to)
		if err != nil || len(headers) != int(test.to-test.from)+1 {
			t.Fatalf("up to block %d: %d headers, error %v", test.to, len(headers), err)
		}
		for i, got := range headers {
			if got != header(test.from+types.Height(i)) {
				t.Errorf("up to block %d: %+v is header %d", test.to, got, i)
			}
		}
	}
	if _, err := source.Headers(t.Context(), oldest-1); !errors.Is(err, api.ErrPruned) ||
		!errors.As(err, new(*replica.Refusal)) {
		t.Errorf("headers that are gone: error %v", err)
	}
}

// TestValuesOfANode gets values with the proofs of the vectors, which have every kind of end, and with proofs that show
// nothing.
func TestValuesOfANode(t *testing.T) {
	var vectors struct {
		Proofs struct {
			State []struct {
				Root  string `json:"state_root"`
				Proof struct {
					Key, Value string
					Siblings   []string
					End        struct {
						Type            api.ProofEndType
						Path, ValueHash string
					}
				}
				Holds bool
			}
		}
	}
	content, err := os.ReadFile("../../docs/vectors.json")
	check(t, err)
	check(t, json.Unmarshal(content, &vectors))
	var told api.AccountProof
	failure := error(nil)
	proofs := func(_ context.Context, p api.StateProofParams) (api.AccountProof, error) {
		if p.Block != api.AtHeight(7) || !bytes.Equal(p.Key, told.Key) {
			t.Errorf("asked for %+v", p)
		}
		return told, failure
	}
	rpc, err := jsonrpc.NewServer(jsonrpc.Options{}, jsonrpc.NewMethod(api.GetStateProof.Name, proofs))
	check(t, err)
	server := httptest.NewServer(rpc)
	defer server.Close()
	source, err := New(server.URL)
	check(t, err)
	defer source.Close()
	ends := map[api.ProofEndType]bool{}
	for _, c := range vectors.Proofs.State {
		if !c.Holds {
			continue
		}
		v := c.Proof
		data := func(text string) api.Data {
			decoded, err := hex.DecodeString(text)
			check(t, err)
			return decoded
		}
		told = api.AccountProof{Key: data(v.Key), End: api.ProofEnd{Type: v.End.Type}}
		for _, sibling := range v.Siblings {
			told.Siblings = append(told.Siblings, types.StateRoot(data(sibling)))
		}
		want := data(v.Value)
		if len(want) > 0 {
			told.Value = &want
		}
		if v.End.Type == api.EndOther {
			path, hash := data(v.End.Path), data(v.End.ValueHash)
			told.End.Path, told.End.ValueHash = &path, &hash
		}
		value, proof, err := source.Value(t.Context(), 7, told.Key)
		check(t, err)
		if !bytes.Equal(value, want) || proof.Verify(types.StateRoot(data(c.Root)), told.Key, value) != nil {
			t.Errorf("%s: the value %x, %+v", v.Key, value, proof)
		}
		ends[v.End.Type] = true
	}
	if len(ends) != 3 {
		t.Errorf("the vectors have proofs that end with %v", ends)
	}
	short := api.Data{1}
	for _, end := range []api.ProofEnd{
		{Type: "root"}, {Type: api.EndOther}, {Type: api.EndOther, Path: &short, ValueHash: &short},
	} {
		told.End = end
		if _, _, err := source.Value(t.Context(), 7, told.Key); !errors.Is(err, client.ErrBadAnswer) {
			t.Errorf("a proof that ends with %+v: error %v, want %v", end, err, client.ErrBadAnswer)
		}
	}
	for _, test := range []struct {
		told *jsonrpc.Error
		want error
	}{
		{api.ErrNoState, chain.ErrNoState},
		{api.ErrPruned, chain.ErrPruned},
		{api.ErrProofWindow, chain.ErrPruned},
	} {
		failure = test.told
		if _, _, err := source.Value(t.Context(), 7, told.Key); !errors.Is(err, test.want) ||
			!errors.As(err, new(*replica.Refusal)) {
			t.Errorf("a value of a node that answers %q: error %v", test.told, err)
		}
	}
}

// TestCodeThatANodeLacks: if a node lacks a code, the next one is asked.
func TestCodeThatANodeLacks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Params []string        `json:"params"`
		}
		check(t, json.NewDecoder(r.Body).Decode(&request))
		answer := fmt.Sprintf(`"result":"0x%s"`, "0a0b")
		if request.Params[0] == (types.CodeHash{}).String() {
			answer = fmt.Sprintf(`"error":{"code":%d,"message":"none","data":{"reason":"no_such_code"}}`, api.CodeNoContract)
		}
		w.Header().Set("Content-Type", "application/json")
		_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, request.ID, answer)
		check(t, err)
	}))
	defer server.Close()
	source, err := New(server.URL)
	check(t, err)
	defer source.Close()
	if code, err := source.Code(t.Context(), types.CodeHash{1}); err != nil || string(code) != "\n\v" {
		t.Errorf("a code is %x, error %v", code, err)
	}
	var fault *replica.FaultError
	if _, err := source.Code(t.Context(), types.CodeHash{}); !errors.As(err, &fault) || fault.Cause != replica.Stalled {
		t.Errorf("a code that is not there: error %v", err)
	}
}
