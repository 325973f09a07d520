package node

import (
	"context"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/types"
)

// openKeyLock opens the sign state of a node that has a producer's key, and holds the chain to it. A development chain
// has none: it is taken back at will. A node with an upstream may get the blocks that are missing from there.
func (n *Node) openKeyLock() (err error) {
	if n.config.Key == nil || n.dir.Path() == "" || n.config.Development != nil || n.config.Cluster != nil {
		return nil // a member's is held by what its cluster decides: others sign with the key, too
	}
	if err := n.dir.CheckRecord(n.config.Key.PublicKey(), n.config.LockDir); err != nil {
		return err
	}
	if n.keyLock, err = n.dir.KeyLock(n.config.Key.PublicKey(), n.config.LockDir); err != nil {
		return err
	}
	n.importer = watched{n.importer, n}
	missing := n.keyLock.Missing()
	switch {
	case missing == nil:
		err := n.raiseKeyLock()
		n.tellOfElsewhere()
		return err
	case len(n.config.Follow.URLs) == 0:
		return missing
	}
	n.config.Log.Warn("this node makes no blocks before it has those that are missing", "error", missing)
	return nil
}

// raiseKeyLock lets the sign state hold the head, before this node makes blocks after it.
func (n *Node) raiseKeyLock() error {
	if n.keyLock == nil {
		return nil
	}
	return n.keyLock.Raise()
}

// watched is an importer that has the sign state look at each block before it is imported: a crash does not take away
// that this node did not make it.
type watched struct {
	replica.Importer
	node *Node
}

func (w watched) Import(ctx context.Context, s replica.Source, blocks []*ledger.Received) ([]ledger.Block, error) {
	if w.node.keyLock.Conflict() == 0 {
		headers := make([]types.SignedHeader, len(blocks))
		for i, b := range blocks {
			headers[i] = b.Header()
		}
		if err := w.node.keyLock.Watch(headers); err != nil {
			return nil, err
		}
		w.node.tellOfElsewhere()
	}
	return w.Importer.Import(ctx, s, blocks)
}

// heardOfProducer is told of the key that an upstream makes blocks with.
func (n *Node) heardOfProducer(key types.PublicKey, head types.Height) error {
	if n.keyLock == nil || key != n.config.Key.PublicKey() || n.keyLock.Conflict() != 0 {
		return nil
	}
	if err := n.keyLock.RecordConflict(max(head, 1)); err != nil {
		return err
	}
	n.tellOfElsewhere()
	return nil
}

// elsewhere is why the node makes no blocks though it has the producer's key, empty where no other node used that.
func (n *Node) elsewhere() string {
	if n.keyLock == nil || n.keyLock.Conflict() == 0 {
		return ""
	}
	return emergency.SignedElsewhere(n.keyLock.Conflict()).Error()
}

// tellOfElsewhere logs that another node used this one's key, where that is known.
func (n *Node) tellOfElsewhere() {
	if reason := n.elsewhere(); reason != "" {
		n.config.Log.Error("this node holds", "reason", reason, "lock", n.keyLock.Path())
	}
}
