package upstream

import (
	"encoding/json"
	"fmt"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/types"
)

// unverifiedReceipt converts a receipt from a node's answer. It returns client.ErrBadAnswer for one that execution
// cannot produce.
func unverifiedReceipt(answer *api.Receipt) (*replica.UnverifiedReceipt, error) {
	words, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	if answer.Status > api.Quantity(types.StatusSuccess) {
		return nil, fmt.Errorf("%w: a receipt of the status %s", client.ErrBadAnswer, answer.Status)
	}
	r := &replica.UnverifiedReceipt{Raw: words, Receipt: types.Receipt{
		Status:   types.ReceiptStatus(answer.Status),
		GasUsed:  types.Gas(answer.GasUsed),
		Contract: answer.ContractAddress,
		Output:   answer.ReturnData,
		Logs:     make([]types.Log, len(answer.Logs)),
	}}
	for i, l := range answer.Logs {
		r.Logs[i] = types.Log{Contract: l.Address, Name: l.EventName, Data: l.Data}
		if len(l.Topics) == 0 {
			return nil, fmt.Errorf("%w: an event lacks the digest of its name", client.ErrBadAnswer)
		}
		for _, topic := range l.Topics[1:] { // the first topic is the name's digest
			if len(topic) != 32 {
				return nil, fmt.Errorf("%w: a topic of %d bytes", client.ErrBadAnswer, len(topic))
			}
			r.Logs[i].Topics = append(r.Logs[i].Topics, [32]byte(topic))
		}
	}
	return r, nil
}
