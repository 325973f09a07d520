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
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/server/front"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/jsonrpc"
)

func (n *Node) newRPCServer() (*rpc.Server, error) {
	config := rpc.Config{
		Chain:   n.store,
		Ledger:  n.ledger,
		Pool:    n.role.Pool(),
		Sender:  n.role,
		Node:    n.role,
		Proofs:  n.queue,
		Engines: rpc.Engines{Views: n.book.Deny(n.views), Trials: n.book.Deny(n.trials), Noting: n.noting},
		About:   rpc.About{Build: n.config.Build},
		ViewGas: n.config.ViewGas,

		Developer: n.role.Developer(),
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
	if n.dir.Options().Chain.Stateless {
		config.About.Verification = api.VerificationStateless
	}
	return rpc.New(config)
}

// newFront makes the public server for JSON-RPC and the other paths of its address.
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

// byClient reports whether an error is due to a client and not to the node: the call's time ran out, or the client left
// before the answer.
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

// logIncidents returns a function that logs an internal error under an id for the client, which must not see the error.
// It logs errors that clients cause at debug level.
func logIncidents(log *slog.Logger) func(context.Context, string, error) string {
	return func(_ context.Context, method string, err error) string {
		var id [8]byte
		_, _ = rand.Read(id[:]) // never fails (crypto/rand)
		incident := hex.EncodeToString(id[:])
		attributes := []any{"incident", incident, "method", method, "error", err}
		if panicked, ok := errors.AsType[*jsonrpc.PanicError](err); ok {
			attributes = append(attributes, "stack", string(panicked.Stack))
		}
		if byClient(err) {
			log.Debug("a call timed out, or its client disconnected", attributes...)
		} else {
			log.Error("internal error", attributes...)
		}
		return incident
	}
}

// publicError converts an error for the client of another member that handed on the transaction.
func (n *Node) publicError(ctx context.Context, err error) *jsonrpc.Error {
	var told *jsonrpc.Error
	if !errors.As(n.rpc.Public(err), &told) {
		incident := logIncidents(n.config.Log)(ctx, "a transaction forwarded by another member", err)
		told = jsonrpc.NewError(jsonrpc.CodeInternal, "Internal error", "incident", incident)
	}
	return told
}

// offers are the node's snapshots. A development chain makes one on demand.
type offers struct {
	*snapshot.Directory
	node *Node
}

// Demand implements [rpc.Snapshots]. If no snapshot can be made, for lack of space for example, it reports none.
func (o offers) Demand(ctx context.Context) (m snapshot.Manifest, ok bool, err error) {
	if o.node.role.Developer() == nil {
		return m, false, nil
	}
	m, err = o.Directory.Demand(ctx, o.node.store, uint64(time.Now().Unix()), o.node.keptSnapshots())
	if err != nil && ctx.Err() == nil {
		if !errors.Is(err, snapshot.ErrNoBlock) {
			o.node.config.Log.Error("cannot create a snapshot", "error", err)
		}
		return m, false, nil
	}
	return m, err == nil, err
}
