package upstream

import (
	"encoding/json"
	"fmt"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/types"
)

// toldReceipt converts a receipt from a node's answer. It returns client.ErrBadAnswer for one that execution cannot
// produce.
func toldReceipt(said *api.Receipt) (*replica.ToldReceipt, error) {
	words, err := json.Marshal(said)
	if err != nil {
		return nil, err
	}
	if said.Status > api.Quantity(types.StatusSuccess) {
		return nil, fmt.Errorf("%w: a receipt of the status %s", client.ErrBadAnswer, said.Status)
	}
	r := &replica.ToldReceipt{Said: words, Receipt: types.Receipt{
		Status:   types.ReceiptStatus(said.Status),
		GasUsed:  types.Gas(said.GasUsed),
		Contract: said.ContractAddress,
		Output:   said.ReturnData,
		Logs:     make([]types.Log, len(said.Logs)),
	}}
	for i, l := range said.Logs {
		r.Logs[i] = types.Log{Contract: l.Address, Name: l.EventName, Data: l.Data}
		if len(l.Topics) == 0 {
			return nil, fmt.Errorf("%w: an event without its name's digest", client.ErrBadAnswer)
		}
		for _, topic := range l.Topics[1:] { // the first is the name's digest
			if len(topic) != 32 {
				return nil, fmt.Errorf("%w: a topic of %d bytes", client.ErrBadAnswer, len(topic))
			}
			r.Logs[i].Topics = append(r.Logs[i].Topics, [32]byte(topic))
		}
	}
	return r, nil
}
