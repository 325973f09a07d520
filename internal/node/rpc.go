package node

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/server/front"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

func (n *Node) newRPCServer() (*rpc.Server, error) {
	config := rpc.Config{
		Chain:   n.store,
		Ledger:  n.ledger,
		Pool:    n.pool,
		Sender:  n.sends(),
		Node:    self{n},
		Proofs:  n.queue,
		Engines: rpc.Engines{Views: n.book.Deny(n.views), Trials: n.book.Deny(n.trials), Noting: n.noting},
		About:   rpc.About{Build: n.config.Build},
		ViewGas: n.config.ViewGas,

		Admission: n.admission,
		Limits: jsonrpc.Options{
			Incident: logIncidents(n.config.Log),
			Observe:  n.telemetry.Observe,
		},
	}
	if o := n.config.Chain.Override; o != nil {
		config.About.Override = &api.Override{Height: o.Height, SHA256: sha256.Sum256(o.Parameters.Encode())}
	}
	if n.snapshots != nil {
		config.Snapshots = offers{n.snapshots, n}
	}
	if n.dir.Options().Stateless {
		config.About.Verification = api.VerificationStateless
	}
	if n.config.Development != nil {
		config.Developer = &developer{
			Solo: n.sequencer, ledger: n.maker, pool: n.pool, treasury: n.config.Development.Treasury,
		}
	}
	return rpc.New(config)
}

// newFront makes the public server: JSON-RPC, and what else is reachable on its address.
func (n *Node) newFront() (*front.Server, error) {
	public, err := n.public()
	if err != nil {
		return nil, err
	}
	config := n.config.HTTP
	config.RPC, config.Fallback, config.Log, config.Admission = n.rpc.Calls(), public, n.config.Log, n.admission
	config.Files = n.config.Files
	return front.New(config)
}

// byClient tells whether an error is of what clients do: they come when there is no time, or go before the answer.
func byClient(err error) bool {
	for _, one := range []error{
		context.DeadlineExceeded, context.Canceled, os.ErrDeadlineExceeded, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// logIncidents logs an error that no client may see under an id that the client is told. What clients cause is none: it
// is told at debug level.
func logIncidents(log *slog.Logger) func(context.Context, string, error) string {
	return func(_ context.Context, method string, err error) string {
		var id [8]byte
		_, _ = rand.Read(id[:]) // never fails (crypto/rand)
		incident := hex.EncodeToString(id[:])
		attributes := []any{"incident", incident, "method", method, "error", err}
		var panicked *jsonrpc.PanicError
		if errors.As(err, &panicked) {
			attributes = append(attributes, "stack", string(panicked.Stack))
		}
		if byClient(err) {
			log.Debug("a client was not waited for, or did not wait", attributes...)
		} else {
			log.Error("internal error", attributes...)
		}
		return incident
	}
}

// offers are the node's snapshots, of which a development chain makes one when it is asked for.
type offers struct {
	*snapshot.Directory
	node *Node
}

// Demand implements [rpc.Snapshots]. If files cannot be made, for lack of room for instance, the answer goes without.
func (o offers) Demand(ctx context.Context) (m snapshot.Manifest, ok bool, err error) {
	if o.node.config.Development == nil {
		return m, false, nil
	}
	m, err = o.Directory.Demand(ctx, o.node.store, uint64(time.Now().Unix()), o.node.keptSnapshots())
	if err != nil && ctx.Err() == nil {
		if !errors.Is(err, snapshot.ErrNoBlock) {
			o.node.config.Log.Error("no snapshot was made", "error", err)
		}
		return m, false, nil
	}
	return m, err == nil, err
}

// developer changes a development chain.
type developer struct {
	*sequencer.Solo
	ledger   *ledger.Ledger
	pool     *mempool.Pool
	treasury crypto.PrivateKey

	funding sync.Mutex // one transfer of the treasury at a time: each takes the next nonce
}

// Fund sends a transfer from the treasury like anyone else's: nothing changes the state behind the protocol's back.
func (d *developer) Fund(ctx context.Context, to types.Account, amount types.Amount) (types.TxID, error) {
	d.funding.Lock()
	defer d.funding.Unlock()
	sender := types.Account(d.treasury.PublicKey())
	nonce, err := d.pool.NextNonce(sender)
	if err != nil {
		return types.TxID{}, err
	}
	tip := d.ledger.Tip()
	payload := types.Transfer{To: to, Amount: amount}
	tx := types.Transaction{
		Version:              types.TransactionVersion,
		ChainID:              tip.Env.ChainID,
		Sender:               sender,
		Nonce:                nonce,
		GasLimit:             fees.IntrinsicGas(payload) + params.Schedule1.NewAccount,
		MaxFeePerGas:         tip.Parameters.MaxBaseFee,
		MaxPriorityFeePerGas: 1,
		Payload:              payload,
	}
	signed, err := types.Sign(tx, d.treasury, [32]byte{})
	if err != nil {
		return types.TxID{}, err
	}
	return d.pool.Add(ctx, signed.Encode(), "")
}
