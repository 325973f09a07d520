package clustersim

import (
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

const (
	window = 8
	// expiry is shorter than a run, so that transactions waiting for an earlier nonce leave the pools by age.
	expiry = 25 * time.Second
	// gap is the nonce that the hoarding client omits.
	gap = 1
)

var errLost = errors.New("the connection broke")

// client pays from its own account. It sends transactions that are not acknowledged yet to varying members.
type client struct {
	*simulation
	name  string
	key   crypto.PrivateKey
	sent  []types.SignedTransaction // by nonce
	taken int                       // number of acknowledged transactions in sent
	waits bool                      // it omits a nonce, so its transactions wait in the pools
}

func newClient(w *simulation, index int) *client {
	name := fmt.Sprint("client ", index)
	return &client{simulation: w, name: name, key: newKey(name), waits: index == 0}
}

// act sends, and schedules the next time.
func (c *client) act() {
	if !c.sending {
		return
	}
	if c.waits {
		c.after(500*time.Millisecond+c.upTo(1500*time.Millisecond), c.act)
	} else {
		c.after(20*time.Millisecond+c.upTo(400*time.Millisecond), c.act)
	}
	m := c.machines[c.random.IntN(len(c.machines))]
	if m.process == nil {
		return
	}
	more := 1 + c.random.IntN(window)
	if c.waits {
		more = 1 // a pool holds few per sender
	}
	for len(c.sent) < c.taken+more {
		c.sign()
	}
	batch := c.sent[c.taken:min(len(c.sent), c.taken+window)]
	encoded := make([][]byte, len(batch))
	for i, tx := range batch {
		encoded[i] = tx.Encode()
	}
	p := m.process
	p.step(cluster.Sent(encoded, c.name, false, func(results []mempool.Result, a cluster.Answer) {
		c.told(p, batch, results, a)
	}))
}

// told records a member's results for transactions.
func (c *client) told(p *process, batch []types.SignedTransaction, results []mempool.Result, a cluster.Answer) {
	if p.dead || a.Refused != nil {
		return
	}
	for i, r := range results {
		id := batch[i].ID()
		known := errors.Is(r.Err, mempool.ErrKnown) || errors.Is(r.Err, exec.ErrNonceTooLow)
		if r.Err != nil && !known {
			continue
		}
		if r.Err == nil {
			c.acknowledged(p, id)
		}
		if c.taken < len(c.sent) && id == c.sent[c.taken].ID() {
			c.taken++
		}
	}
}

func (c *client) sign() {
	nonce := uint64(len(c.sent))
	if c.waits {
		nonce += gap
	}
	to := c.clients[c.random.IntN(len(c.clients))].key.PublicKey()
	c.add(types.Transaction{
		Nonce:                nonce,
		GasLimit:             50_000,
		MaxPriorityFeePerGas: types.Amount(1 + c.random.IntN(20)),
		Target:               types.Account(to), Value: types.Amount(1 + c.random.IntN(1000)), Payload: types.Transfer{},
	})
}

// add signs a transaction that is to be sent.
func (c *client) add(unsigned types.Transaction) {
	unsigned.ChainID, unsigned.Sender, unsigned.MaxFeePerGas = c.genesis.ChainID, c.key.PublicKey(), 100
	tx, err := types.Sign(unsigned, c.key, [32]byte{})
	if err != nil {
		panic(err) // signing cannot fail
	}
	c.sent = append(c.sent, tx)
}
