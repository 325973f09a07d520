package sim

import (
	"fmt"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// window is how many transactions a client has under way: as many signatures as a pool verifies without waiting for others,
// so that no two requests are done at one moment.
const window = 8

// payer is a client: it pays from an account of its own, sends each payment to the primary until a node says that a block has it, and
// remembers who said so.
type payer struct {
	world *world
	name  string
	key   crypto.PrivateKey
	sent  []types.SignedTransaction // by nonce

	confirmed int // of sent
}

func newPayer(w *world, index int) *payer {
	name := fmt.Sprint("client ", index)
	return &payer{world: w, name: name, key: newKey(name)}
}

// act asks one node about the oldest payment that is under way, and sends the primary those that are. Replicas hand
// nothing on here: which of two requests of one moment comes first is not the seed's.
func (c *payer) act() {
	w := c.world
	if p := w.nodes[w.random.IntN(nodes)].reached(); p != nil {
		c.ask(p)
	}
	for len(c.sent) < c.confirmed+window {
		c.pay()
	}
	to := w.nodes[0].reached()
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
			}
		}
		w.note("%s has sent %d to %s, which refuses %d", c.name, len(encoded), to.node.name, refused)
	})
}

// pay makes the next payment.
func (c *payer) pay() {
	w := c.world
	to := w.clients[w.random.IntN(clients)].key.PublicKey()
	tx, err := types.Sign(types.Transaction{
		Version: 1, ChainID: w.genesis.ChainID, Sender: c.key.PublicKey(), Nonce: uint64(len(c.sent)), GasLimit: 50_000,
		MaxFeePerGas: 1_000, MaxPriorityFeePerGas: types.Amount(1 + w.random.IntN(20)),
		Payload: types.Transfer{To: types.Account(to), Amount: types.Amount(1 + w.random.IntN(1_000_000))},
	}, c.key, [32]byte{})
	if err != nil {
		panic(err) // a key signs everything
	}
	c.sent = append(c.sent, tx)
}

// ask has a node say which payments are in a block.
func (c *payer) ask(p *process) {
	for c.confirmed < len(c.sent) {
		id := c.sent[c.confirmed].ID()
		at, found, err := p.position(id)
		if err != nil {
			c.world.violate(Running, "%s does not find a transaction: %v", p.node.name, err)
			return
		}
		if !found {
			return
		}
		c.world.note("%s hears from %s that %s is in block %d", c.name, p.node.name, id, at.Height)
		c.world.wasIncluded(id, at)
		c.confirmed++
	}
}
