package replica

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// TestBundleOfANode has a node not give a bundle: only what it says is to come is waited for.
func TestBundleOfANode(t *testing.T) {
	stored := &jsonrpc.Error{Code: api.CodeProofNotReady, Message: "not stored", Data: map[string]any{"reason": "proof_not_stored", "oldest": 3, "newest": 9}}
	for _, test := range []struct {
		name   string
		status int
		why    error
		holds  func(error) bool
	}{
		{"to come", http.StatusNotFound, api.ErrProofNotReady, func(err error) bool { return errors.Is(err, ErrNotProven) }},
		{"not stored", http.StatusNotFound, stored, func(err error) bool {
			var none *noProof
			var fault *faultError
			return errors.As(err, &none) && *none == noProof{7, true, 3, 9} && errors.As(err, &fault) && fault.cause == Stalled
		}},
		{"none at all", http.StatusNotFound, api.ErrProofNotStored, func(err error) bool {
			var none *noProof
			return errors.As(err, &none) && !none.stored
		}},
		{"busy", http.StatusServiceUnavailable, nil, func(err error) bool { return errors.As(err, new(*client.StatusError)) && !errors.Is(err, ErrNotProven) }},
		{"too large", http.StatusOK, nil, func(err error) bool { return errors.Is(err, client.ErrTooLarge) && !errors.Is(err, ErrNotProven) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			rpc, err := jsonrpc.NewServer(jsonrpc.Options{}, jsonrpc.NewMethod(api.GetProof.Name, func(context.Context, api.GetProofParams) (api.BlockProof, error) {
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
			source, err := NewSource(server.URL)
			check(t, err)
			defer source.Close()
			if _, err := source.Bundle(t.Context(), 7, 5); !test.holds(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}
