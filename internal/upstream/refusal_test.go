package upstream

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		answer *client.Error
		want   replica.RefusalKind
	}{
		{api.ErrAlreadyKnown, replica.RefusedKnown},
		{api.ErrMempoolFull, replica.RefusedFull},
		{api.ErrNotWritten, replica.RefusedFull},
		{api.ErrBusy, replica.RefusedBusy},
		{&client.Error{Code: jsonrpc.CodeLimit, Data: map[string]any{"reason": "rate"}}, replica.RefusedBusy},
		{api.ErrReadOnly, replica.RefusedReadOnly},
		{api.ErrNoPrimary, replica.RefusedReadOnly},
		{&client.Error{Code: jsonrpc.CodeInternal, Message: "incident"}, replica.RefusedFailed},
		{api.ErrAboveHead, replica.RefusedEarly},
		{&client.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such method"}, replica.RefusedForGood},
		{api.ErrPruned, replica.RefusedForGood},
		{api.ErrNonceTooLow, replica.RefusedUsed},
	} {
		err := refused(fmt.Errorf("asked: %w", c.answer))
		var refusal *replica.Refusal
		var words *client.Error
		if !errors.As(err, &refusal) || refusal.Why != c.want || !errors.As(err, &words) || words != c.answer {
			t.Errorf("%v is %#v, want kind %d", c.answer, err, c.want)
		}
	}
	for _, err := range []error{nil, client.ErrUnreachable, client.ErrBadAnswer} {
		if refused(err) != err {
			t.Errorf("%v is taken for a refusal", err)
		}
	}
}

// told is a receipt in a node's form.
func told(r types.Receipt) *api.Receipt {
	t := &api.Receipt{
		TransactionHash: types.TxID{6},
		Status:          api.Quantity(r.Status),
		GasUsed:         api.Quantity(r.GasUsed),
		ReturnData:      r.Output,
		ContractAddress: r.Contract,
		Logs:            []api.Log{},
	}
	for _, log := range r.Logs {
		l := api.Log{Address: log.Contract, EventName: log.Name, Data: log.Data, Topics: []api.Data{make([]byte, 32)}}
		for _, topic := range log.Topics {
			l.Topics = append(l.Topics, topic[:])
		}
		t.Logs = append(t.Logs, l)
	}
	return t
}

func TestToldReceipt(t *testing.T) {
	full := types.Receipt{
		Status:   types.StatusSuccess,
		GasUsed:  7,
		Contract: &types.ContractID{1},
		Output:   []byte{2},
		Logs:     []types.Log{{Contract: types.ContractID{3}, Name: "n", Topics: [][32]byte{{4}}, Data: []byte{5}}},
	}
	got, err := unverifiedReceipt(told(full))
	check(t, err)
	if string(got.Encode()) != string(full.Encode()) || len(got.Raw) < 100 {
		t.Errorf("%+v is read as %+v", full, got)
	}
	for name, change := range map[string]func(*api.Receipt){
		"status":            func(r *api.Receipt) { r.Status = 257 },
		"no topics":         func(r *api.Receipt) { r.Logs[0].Topics = nil },
		"a topic too short": func(r *api.Receipt) { r.Logs[0].Topics[1] = make([]byte, 31) },
	} {
		other := told(full)
		change(other)
		if got, err := unverifiedReceipt(other); !errors.Is(err, client.ErrBadAnswer) {
			t.Errorf("%s: got %+v, error %v, want %v", name, got, err, client.ErrBadAnswer)
		}
	}
}
