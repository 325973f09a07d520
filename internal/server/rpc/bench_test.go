package rpc

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// BenchmarkServe answers bodies as they arrive over HTTP: one read, and 100 identical ones in sequence.
func BenchmarkServe(b *testing.B) {
	token := newTokenScenario(b)
	c := token.testChain
	account := types.Regtest.Address(account(alice))
	calls := map[string]string{
		"blockNumber": `{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber","params":[]}`,
		"getBalance":  fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"svc_getBalance","params":["%s","latest"]}`, account),
		"receipt": fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"svc_getTransactionReceipt","params":["%s"]}`, types.TxID{1},
		),
		"viewCall": fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"svc_viewCall","params":["%s","balanceOf","%s"]}`,
			token.token, token.balanceOf(bob),
		),
	}
	for name, call := range calls {
		for _, count := range []int{1, 100} {
			body := []byte(call)
			if count > 1 {
				body = []byte("[" + strings.Repeat(call+",", count-1) + call + "]")
			}
			b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if answer := c.server.rpc.Serve(b.Context(), body); !bytes.Contains(answer, []byte(`"result":`)) {
						b.Fatalf("got %s", answer)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/call")
			})
		}
	}
}
