package sim

import (
	"fmt"

	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// window is the number of a client's pending transactions. A pool verifies that many signatures without waiting for
// others, so no two requests finish at the same time.
const window = 8

// payer is a client that pays from its own account, in coins and in a token that the first client deploys. It sends
// each transaction to varying nodes until one reports it in a block, and remembers which.
type payer struct {
	simulation *simulation
	name       string
	key        crypto.PrivateKey
	sent       []types.SignedTransaction // by nonce

	confirmed int // number of confirmed ones in sent
}

func newPayer(w *simulation, index int) *payer {
	name := fmt.Sprint("client ", index)
	return &payer{simulation: w, name: name, key: newKey(name)}
}

// act asks a node about the oldest pending transaction, and sends a node the pending ones.
func (c *payer) act() {
	w := c.simulation
	if p := w.nodes[w.random.IntN(nodes)].reached(); p != nil {
		c.ask(p)
	}
	for len(c.sent) < c.confirmed+window {
		c.sign(c.next())
	}
	to := w.nodes[w.random.IntN(nodes)].reached()
	if to == nil {
		return
	}
	var encoded [][]byte
	for _, tx := range c.sent[c.confirmed:] {
		encoded = append(encoded, tx.Encode())
	}
	w.sending.Go(func() {
		refused := 0
		for _, r := range to.sends.AddMany(to.ctx, encoded, c.name) {
			if r.Err != nil {
				refused++
			} else if to.follow != nil {
				w.count(func(r *Report) *int { return &r.Forwarded })
			}
		}
		w.note("%s has sent %d to %s, which refuses %d", c.name, len(encoded), to.node.name, refused)
	})
}

// next returns the target, value and payload of the client's next transaction. Calls fail if the token does not exist
// yet, and so do transfers of more tokens than available.
func (c *payer) next() types.Transaction {
	w := c.simulation
	deployer := w.clients[0]
	switch {
	case c == deployer && len(c.sent) == 0:
		return types.Transaction{Payload: types.Deploy{
			Name: "token", Code: contracts.Token(),
			InitArgs: []byte(`{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":10000}`),
		}}
	case w.chance(30):
		return types.Transaction{
			Target: types.Account(types.NewContractID(types.Account(deployer.key.PublicKey()), 0)),
			Payload: types.Call{
				Function: "transfer",
				Args:     fmt.Appendf(nil, `{"to":"%s","amount":%d}`, c.somebody(), 1+w.random.IntN(2_000)),
			},
		}
	case w.chance(10):
		var batch types.Batch
		for range 1 + w.random.IntN(4) {
			batch.Steps = append(batch.Steps, types.Step{
				Target: c.somebody(), Value: c.amount(), Action: types.Transfer{Memo: &[32]byte{byte(len(c.sent))}},
			})
		}
		return types.Transaction{Payload: batch}
	default:
		return types.Transaction{Target: c.somebody(), Value: c.amount(), Payload: types.Transfer{}}
	}
}

// somebody is the account of a client, perhaps of this one.
func (c *payer) somebody() types.Account {
	return types.Account(c.simulation.clients[c.simulation.random.IntN(clients)].key.PublicKey())
}

func (c *payer) amount() types.Amount { return types.Amount(1 + c.simulation.random.IntN(1_000_000)) }

// sign signs the client's next transaction. Another client pays for some.
func (c *payer) sign(tx types.Transaction) {
	w := c.simulation
	tx.GasLimit = map[types.PayloadKind]types.Gas{
		types.KindTransfer: 50_000, types.KindBatch: 100_000, types.KindCall: 2_000_000, types.KindDeploy: 250_000_000,
	}[tx.Payload.Kind()]
	tx.ChainID, tx.Sender, tx.Nonce = w.genesis.ChainID, c.key.PublicKey(), uint64(len(c.sent))
	tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = 100, types.Amount(1+w.random.IntN(20))
	sponsor := w.clients[w.random.IntN(clients)]
	if sponsor != c && w.chance(20) {
		account := types.Account(sponsor.key.PublicKey())
		tx.Payer = &account
	}
	signed, err := types.Sign(tx, c.key, [32]byte{})
	if err != nil {
		panic(err) // signing cannot fail
	}
	if tx.Payer != nil {
		hash := types.PayerHash(signed.ID())
		signature, err := sponsor.key.Sign(hash[:], [32]byte{})
		if err != nil {
			panic(err) // signing cannot fail
		}
		signed.PayerWitness = types.WitnessKey{Signature: signature}
	}
	c.sent = append(c.sent, signed)
}

// ask asks a node which transactions are in a block.
func (c *payer) ask(p *process) {
	for c.confirmed < len(c.sent) {
		id := c.sent[c.confirmed].ID()
		at, found, err := p.position(id)
		if err == nil && found {
			err = c.countCall(p, c.sent[c.confirmed], at)
		}
		if err != nil {
			c.simulation.violate(Running, "%s does not find a transaction: %v", p.node.name, err)
			return
		}
		if !found {
			return
		}
		c.simulation.note("%s hears from %s that %s is in block %d", c.name, p.node.name, id, at.Height)
		c.simulation.wasIncluded(id, at)
		c.confirmed++
	}
}

// countCall counts a successful call.
func (c *payer) countCall(p *process, tx types.SignedTransaction, at chain.Position) error {
	if tx.Payload.Kind() != types.KindCall {
		return nil
	}
	receipts, err := p.receipts(at.Height)
	if err != nil {
		return err
	}
	if int(at.Index) < len(receipts) && receipts[at.Index].Status == types.StatusSuccess {
		c.simulation.count(func(r *Report) *int { return &r.Calls })
	}
	return nil
}
