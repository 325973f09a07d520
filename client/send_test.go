package client

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// slowReceipts answers null the given number of times before it answers with a receipt.
func slowReceipts(nulls int) jsonrpc.Method {
	return answer(api.GetTransactionReceipt, func(p api.TransactionParams) (*api.Receipt, error) {
		if nulls--; nulls >= 0 {
			return nil, nil
		}
		return &api.Receipt{TransactionHash: p.Hash, Status: 1}, nil
	})
}

func TestWaitReceiptPollsWithGrowingPauses(t *testing.T) {
	var pauses []time.Duration
	c := connect(t, &pauses, slowReceipts(10))
	receipt, err := c.WaitReceipt(t.Context(), types.TxID{7})
	if err != nil || receipt.TransactionHash != (types.TxID{7}) {
		t.Fatalf("got %+v, error %v", receipt, err)
	}
	if len(pauses) != 10 || !slices.IsSorted(pauses) || pauses[0] != 100*time.Millisecond || pauses[9] != 2*time.Second {
		t.Errorf("pauses %v", pauses)
	}
}

func TestWaitReceiptEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	polls := 0
	c := connect(t, nil, answer(api.GetTransactionReceipt, func(api.TransactionParams) (*api.Receipt, error) {
		if polls++; polls == 3 {
			cancel()
		}
		return nil, nil
	}))
	_, err := c.WaitReceipt(ctx, types.TxID{7})
	var e *Error
	if !errors.Is(err, api.ErrTimeUp) || !errors.Is(err, context.Canceled) || !errors.As(err, &e) ||
		e.Data["hash"] != (types.TxID{7}) {
		t.Errorf("error %v", err)
	}
}

func TestWaitReceiptPassesErrorsOn(t *testing.T) {
	c := connect(t, nil)
	if _, err := c.WaitReceipt(t.Context(), types.TxID{}); !errors.Is(err, errNoMethod) {
		t.Errorf("error %v, want %v", err, errNoMethod)
	}
}

func TestSendAndWait(t *testing.T) {
	signed := signedTransfer(t)
	fails := func(e *jsonrpc.Error) jsonrpc.Method {
		return answer(api.SendRawTransactionSync, func(api.RawTransactionParams) (api.Receipt, error) {
			return api.Receipt{}, e
		})
	}
	receipt := api.Receipt{TransactionHash: signed.ID(), Status: 1}
	tests := []struct {
		name    string
		methods []jsonrpc.Method
		want    *jsonrpc.Error // nil: it returns the receipt
	}{
		{"receipt at once", []jsonrpc.Method{always(api.SendRawTransactionSync, receipt)}, nil},
		{"node's time is up", []jsonrpc.Method{fails(api.ErrTimeUp), slowReceipts(3)}, nil},
		{"node without the method", []jsonrpc.Method{always(api.SendRawTransaction, signed.ID()), slowReceipts(3)}, nil},
		{"node without the method that knows the transaction", []jsonrpc.Method{
			answer(api.SendRawTransaction, func(api.RawTransactionParams) (types.TxID, error) {
				return types.TxID{}, api.ErrAlreadyKnown
			}),
			slowReceipts(0)}, nil},
		{"refused", []jsonrpc.Method{fails(api.ErrNonceTooLow)}, api.ErrNonceTooLow},
		{"refused without the method", []jsonrpc.Method{
			answer(api.SendRawTransaction, func(api.RawTransactionParams) (types.TxID, error) {
				return types.TxID{}, api.ErrNonceTooLow
			}),
		}, api.ErrNonceTooLow},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := connect(t, nil, test.methods...)
			got, err := c.SendAndWait(t.Context(), signed)
			if test.want != nil {
				if !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				return
			}
			if err != nil || got.TransactionHash != signed.ID() {
				t.Errorf("got %+v, error %v, want TransactionHash %v", got, err, signed.ID())
			}
		})
	}
}

func TestSendAndWaitEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := connect(t, nil, jsonrpc.NewMethod(api.SendRawTransactionSync.Name,
		func(request context.Context, _ api.RawTransactionParams) (api.Receipt, error) {
			cancel()
			<-request.Done()
			return api.Receipt{}, request.Err()
		}))
	signed := signedTransfer(t)
	_, err := c.SendAndWait(ctx, signed)
	var e *Error
	if !errors.Is(err, api.ErrTimeUp) || !errors.Is(err, context.Canceled) || !errors.As(err, &e) ||
		e.Data["hash"] != signed.ID() {
		t.Errorf("error %v", err)
	}
}

func TestFailure(t *testing.T) {
	if err := Failure(api.Receipt{Status: 1}); err != nil {
		t.Errorf("of a success: error %v", err)
	}
	reason := "out_of_gas"
	err := Failure(api.Receipt{TransactionHash: types.TxID{3}, GasUsed: 21_000, Error: &reason})
	var e *Error
	if !errors.Is(err, api.ErrExecutionFailed) || !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	if e.Data["reason"] != reason || e.Data["hash"] != (types.TxID{3}) || e.Data["gasUsed"] != api.Quantity(21_000) {
		t.Errorf("data %v", e.Data)
	}
}

func TestSleep(t *testing.T) {
	if err := sleep(t.Context(), 0); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
