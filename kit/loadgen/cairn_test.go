package loadgen

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// windowNode accepts transactions of one account up to a nonce window, and includes all of them once a receipt of one
// is requested. Its methods are called one at a time.
type windowNode struct {
	window, waiting int
	status          types.ReceiptStatus
	accepted        []types.Amount
	receipts        int // asked for
}

func (n *windowNode) fund(_ context.Context, p api.DevFundParams) (id types.TxID, err error) {
	if n.waiting == n.window {
		return id, api.ErrNonceTooHigh
	}
	n.waiting++
	n.accepted = append(n.accepted, types.Amount(p.Amount))
	return id, nil
}

func (n *windowNode) receipt(context.Context, api.TransactionParams) (api.Receipt, error) {
	n.waiting = 0
	n.receipts++
	return api.Receipt{Status: api.Quantity(n.status)}, nil
}

// TestManyArePaidInWaves pays more accounts than a node accepts nonces, and waits for each wave's block.
func TestManyArePaidInWaves(t *testing.T) {
	for _, test := range []struct {
		name     string
		window   int
		status   types.ReceiptStatus
		receipts int
		fails    bool
	}{
		{"a wave fits", setupWave, types.StatusSuccess, 3, false},
		{"none fits", setupWave - 1, types.StatusSuccess, 0, true},
		{"the first wave fails", setupWave, types.StatusFailed, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := &windowNode{window: test.window, status: test.status}
			methods, err := jsonrpc.NewServer(jsonrpc.Options{},
				jsonrpc.NewMethod(api.DevFund.Name, n.fund), jsonrpc.NewMethod(api.GetTransactionReceipt.Name, n.receipt))
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(methods)
			defer server.Close()
			c, err := client.New(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			to, amounts := make([]types.Account, 2*setupWave+1), make([]types.Amount, 2*setupWave+1)
			for i := range amounts {
				amounts[i] = types.Amount(i + 1)
			}
			err = (&Cairn{client: c}).pay(t.Context(), to, amounts, nil)
			if (err != nil) != test.fails || n.receipts != test.receipts {
				t.Errorf("%v after %d receipts", err, n.receipts)
			}
			if !test.fails && !slices.Equal(n.accepted, amounts) {
				t.Errorf("%d amounts were paid, not each once and in order", len(n.accepted))
			}
		})
	}
}
