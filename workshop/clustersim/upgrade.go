package clustersim

import (
	"time"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// knowing calls do with the versions of the protocol that the process knows. Their list is global.
func (p *process) knowing(do func()) {
	if p.newer {
		_, forget := params.Learn()
		defer forget()
	}
	do()
}

// status returns the member's status.
func (p *process) status() (s cluster.Status) {
	p.knowing(func() { s = p.member.Status() })
	return s
}

// upgrade is the one that the run has.
func (w *simulation) upgrade() *types.Upgrade {
	return &types.Upgrade{Version: params.Version + 1, From: uint64(began.Add(w.setup.Upgrade).UnixMilli())}
}

// announce has the chain's admin announce an upgrade, or cancel one with nil. It sends to one member after the other
// until one of them has taken the transaction.
func (w *simulation) announce(u *types.Upgrade) {
	next := w.genesis.Parameters
	next.Upgrade = u
	c := w.admin
	c.add(types.Transaction{Nonce: uint64(len(c.sent)), GasLimit: 1_000_000, MaxPriorityFeePerGas: 50, Payload: types.Configure{Parameters: next}})
	c.insist(len(c.sent))
}

// insist sends the first transactions until members have taken them.
func (c *client) insist(first int) {
	if c.taken >= first {
		return
	}
	c.after(300*time.Millisecond, func() { c.insist(first) })
	if m := c.any(); m != nil {
		p, batch := m.process, c.sent[c.taken:first]
		encoded := make([][]byte, len(batch))
		for i, tx := range batch {
			encoded[i] = tx.Encode()
		}
		p.step(cluster.Sent(encoded, c.name, false, func(results []mempool.Result, a cluster.Answer) {
			c.told(p, batch, results, a)
		}))
	}
}

// checkVersion checks the version of a block. included are the transactions of the chain up to it.
func (w *simulation) checkVersion(h types.Header, included map[types.TxID]types.Height) {
	want, newest := params.Version, types.Height(0)
	if w.admin != nil {
		for _, tx := range w.admin.sent {
			height, there := included[tx.ID()]
			if configure := tx.Payload.(types.Configure); there && height < h.Height && height > newest {
				newest, want = height, configure.Parameters.VersionAt(h.Timestamp)
			}
		}
	}
	if h.Version != want {
		w.violate(Versions, "block %d, of %d, has version %d, not %d", h.Height, h.Timestamp, h.Version, want)
	}
	if h.Version > params.Version && w.report.Upgraded == 0 {
		w.report.Upgraded = h.Height
	}
}

// restart starts a machine again, with what has been changed of it.
func (w *simulation) restart(m *machine) {
	m.process.die(false)
	m.process.bury()
	if m.process == nil {
		m.up()
	}
}
