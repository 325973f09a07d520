package role

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// memberLink implements cluster.Link.
type memberLink struct{ *p2p.Link }

func (l memberLink) Send(messages []*raftpb.Message) {
	for _, m := range messages {
		l.Link.Send(m)
	}
}

// The codes on the link for a batch of transactions that was refused as a whole.
const (
	notLeader = 1
	busy      = 2
	holding   = 3
)

// Forward sends transactions to a member in batches that the link can carry. If the member refuses a batch as a whole,
// Forward stops and returns that refusal for all transactions.
func (l memberLink) Forward(ctx context.Context, to uint64, encoded [][]byte) (all cluster.Answer, err error) {
	for len(encoded) > 0 {
		n, size := 0, 0
		for n < len(encoded) && n < p2p.MaxTake && (n == 0 || size+len(encoded[n]) <= p2p.MaxTakeBytes) {
			size += len(encoded[n])
			n++
		}
		taken, err := l.Take(ctx, to, encoded[:n])
		if err != nil {
			return all, err
		}
		switch taken.Refused {
		case 0:
		case busy:
			return cluster.Answer{Refused: cluster.ErrBusy}, nil
		case holding:
			return cluster.Answer{Refused: cluster.ErrHolds}, nil
		default:
			return cluster.Answer{Refused: cluster.ErrNotLeader}, nil
		}
		all.Index = max(all.Index, taken.Index)
		for _, r := range taken.Results {
			all.Results = append(all.Results, refusalOf(r))
		}
		encoded = encoded[n:]
	}
	return all, nil
}

// refusalOf converts another member's refusal of a transaction into an error with the same text for the client. Errors
// that the engine handles stay recognizable.
func refusalOf(r p2p.Result) error {
	if r.Code == 0 {
		return nil
	}
	told := &jsonrpc.Error{Code: int(r.Code), Message: r.Message}
	decoder := json.NewDecoder(bytes.NewReader(r.Data))
	decoder.UseNumber()
	if err := decoder.Decode(&told.Data); err != nil {
		told.Data = nil // no data
	}
	switch {
	case errors.Is(told, api.ErrAlreadyKnown):
		return fmt.Errorf("%w: %w", mempool.ErrKnown, told)
	case errors.Is(told, api.ErrNonceTooLow):
		return fmt.Errorf("%w: %w", exec.ErrNonceTooLow, told)
	}
	return told
}

func (l memberLink) Unfit() map[uint64]string {
	unfit := make(map[uint64]string)
	for id, p := range l.Peers() {
		if p.Report.Unfit != "" {
			unfit[id] = p.Report.Unfit
		}
	}
	return unfit
}

// The following methods implement [p2p.Handler].

func (m *member) Deliver(message *raftpb.Message) { m.service.Deliver(message) }
func (m *member) Unreachable(id uint64)           { m.service.Unreachable(id) }

// Refused makes the member end. Only the first call has an effect.
func (m *member) Refused(by p2p.Peer, r *p2p.Refusal) {
	select {
	case m.refused <- fmt.Errorf("%s refused this member: %w", by.Name, m.end(r)):
	default:
	}
}

func (m *member) Take(ctx context.Context, from uint64, encoded [][]byte) p2p.Taken {
	answer := m.service.Serve(ctx, "member "+strconv.FormatUint(from, 16), encoded)
	switch {
	case errors.Is(answer.Refused, cluster.ErrBusy):
		return p2p.Taken{Refused: busy}
	case errors.Is(answer.Refused, cluster.ErrHolds):
		return p2p.Taken{Refused: holding}
	case answer.Refused != nil:
		return p2p.Taken{Refused: notLeader}
	}
	taken := p2p.Taken{Index: answer.Index, Results: make([]p2p.Result, len(answer.Results))}
	for i, err := range answer.Results {
		taken.Results[i] = m.resultOf(ctx, err)
	}
	return taken
}

// resultOf converts an error into the result for a client of another member.
func (m *member) resultOf(ctx context.Context, err error) p2p.Result {
	if err == nil {
		return p2p.Result{}
	}
	told := m.Public(ctx, err)
	data, err := json.Marshal(told.Data)
	if err != nil {
		data = nil // numbers and strings always encode
	}
	return p2p.Result{Code: int32(told.Code), Message: told.Message, Data: data}
}

func (m *member) Blocks(from, to types.Height) ([][]byte, error) {
	return m.service.ServeBlocks(from, to)
}

func (m *member) Pending() (cluster.Pending, error) { return m.service.ServePending() }

func (m *member) Lease(member uint64, height types.Height) bool {
	return m.service.Status().Leads && m.grantProof(member, blockproof.Span(height))
}

func (m *member) Proof(of []types.Height) (types.Height, []byte, error) {
	for _, height := range of {
		proof, err := m.proofOf(blockproof.Span(height))
		if err == nil {
			return height, proof, nil
		}
		if !errors.Is(err, chain.ErrNotFound) && !errors.Is(err, chain.ErrPruned) {
			return 0, nil, fmt.Errorf("cannot read the proof of block %d", height)
		}
	}
	return 0, nil, nil
}

// Members returns the members' records, encoded as a [cluster.Place] without a block.
func (m *member) Members() []byte {
	var place cluster.Place
	for _, p := range m.service.Status().Peers {
		place.Members = append(place.Members, p.Record)
	}
	return place.Encode()
}

func (m *member) Report() p2p.Report {
	return p2p.Report{
		Wall:    uint64(time.Now().UnixMilli()),
		Applied: m.service.Status().Applied,
		Height:  m.Store.Head().Header.Height,
		Boot:    m.boot,
		Program: m.Program,
		Unfit:   m.service.Status().Unfit,
	}
}
