package node

import (
	"context"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/signer"
)

// LocalKey is a producer's key that this process has itself.
func LocalKey(key crypto.PrivateKey) sequencer.Signer { return sequencer.Local(key) }

// openSigner tells the client of a signer which chain its headers are of, and where it tells of others that ask.
func (n *Node) openSigner() error {
	client, is := n.config.Key.(*signer.Client)
	if !is {
		return nil
	}
	genesis, err := n.store.Header(0)
	if err != nil {
		return err
	}
	n.signer, client.Genesis, client.Log = client, genesis.Header.Hash(), n.config.Log
	return nil
}

// unsigned is why the signer does not sign this node's block, empty where it does, or was not asked.
func (n *Node) unsigned() string {
	if n.signer == nil || n.signer.Fault() == nil {
		return ""
	}
	return "no block is signed: " + n.signer.Fault().Error()
}

// probeInterval is the time between two attempts to reach a signer that failed when this member led.
const probeInterval = 5 * time.Second

// probeSigner has a member that does not lead notice that the signer is back, until ctx ends.
func (m *member) probeSigner(ctx context.Context) error {
	if m.node.signer == nil {
		return nil
	}
	for pause.For(ctx, probeInterval) == nil {
		if !m.service.Status().Leads {
			m.node.signer.Probe(ctx)
		}
	}
	return nil
}

// signerMetrics are those of a node whose key a signer has.
func signerMetrics() []telemetry.Metric[*Node] {
	return []telemetry.Metric[*Node]{
		telemetry.Gauge("signer_failing", "1 while the signer did not sign the header that it was asked for last.",
			func(n *Node) int { return oneIf(n.unsigned() != "") }),
	}
}
