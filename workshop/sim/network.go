package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

var (
	errLost    = errors.New("the connection broke")
	errRefused = errors.New("connection refused")
)

// maxBlocks bounds the blocks of a response, as a server does.
const maxBlocks = 64

// link connects a replica to another node: it is a [replica.Source] over the network.
type link struct {
	simulation *simulation
	from       *process
	to         *node

	mu      sync.Mutex // guards the fields below
	earlier [][]byte   // an earlier response
	broken  bool       // permanently, by a bug
	sent    int        // number of Send calls, which distinguishes simultaneous ones
}

func (l *link) Name() string { return l.to.name }
func (l *link) Close()       {}

// travel takes the latency of a message: some milliseconds, or seconds under faults. If the message is lost, it returns
// an error after a long wait.
func (l *link) travel(ctx context.Context, dice *rand.Rand) error {
	most, lost := 20*time.Millisecond, false
	if l.simulation.faulty.Load() {
		switch dice.IntN(12) {
		case 0:
			most, lost = 3*time.Second, true
		case 1:
			most, lost = time.Minute, true
		case 2, 3:
			most = 2 * time.Second
		}
	}
	if err := pause.For(ctx, time.Microsecond+time.Duration(dice.Int64N(int64(most)))); err != nil {
		return err
	}
	if lost {
		l.simulation.count(func(r *Report) *int { return &r.Lost })
		return errLost
	}
	return nil
}

// call sends a request to the other node and returns the response. The context of the response ends with the answering
// process; a response made at the time of its end is lost.
func call[T any](
	ctx context.Context, l *link, what string, argument any, answer func(context.Context, *process, *rand.Rand) (T, error),
) (result T, err error) {
	w := l.simulation
	dice := w.dice(l.from.node.name, l.to.name, what, argument)
	defer func() { l.brokenBy(err) }()
	if l.isBroken() || l.from.goneBefore(w.now()) {
		return result, errLost
	}
	if err := l.travel(ctx, dice); err != nil {
		return result, err
	}
	p := l.to.reached()
	if p == nil {
		return result, errRefused
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(p.ctx, stop)()
	result, err = answer(serving, p, dice)
	answered := w.now()
	if lost := l.travel(ctx, dice); lost != nil {
		return result, lost
	}
	if p.goneBefore(answered + 1) {
		return result, errLost
	}
	return result, err
}

// brokenBy keeps a link broken after its first error, under [GivesUp].
func (l *link) brokenBy(err error) {
	if l.simulation.setup.Bug == GivesUp && err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.broken = true
	}
}

func (l *link) isBroken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

func (l *link) Probe(ctx context.Context, at types.Height) (replica.Probe, error) {
	return call(ctx, l, "probe", at, func(_ context.Context, p *process, _ *rand.Rand) (replica.Probe, error) {
		first, err := p.block(0)
		if err != nil {
			return replica.Probe{}, err
		}
		answer := replica.Probe{Genesis: first.Header.Hash(), Head: p.height(), Primary: p.height()}
		if p.follow != nil {
			answer.Primary = p.follow.Status().Primary
		}
		answer.Header, err = l.header(p, at)
		return answer, err
	})
}

func (l *link) Header(ctx context.Context, height types.Height) (*types.SignedHeader, error) {
	return call(ctx, l, "header", height, func(_ context.Context, p *process, _ *rand.Rand) (*types.SignedHeader, error) {
		return l.header(p, height)
	})
}

func (l *link) header(p *process, h types.Height) (*types.SignedHeader, error) {
	if h > p.height() {
		return nil, nil
	}
	b, err := l.told(p, h)
	if err == nil && l.simulation.setup.Bug == IgnoresForks && h <= l.from.height() {
		b, err = l.from.block(h)
	}
	if err != nil {
		return nil, err
	}
	signed := b.Signed()
	return &signed, nil
}

func (l *link) Blocks(ctx context.Context, from, to types.Height) ([][]byte, error) {
	blocks, err := call(ctx, l, "blocks", from, func(_ context.Context, p *process, dice *rand.Rand) ([][]byte, error) {
		var answer [][]byte
		for h := from; h <= min(to, p.height(), from+maxBlocks-1); h++ {
			b, err := l.told(p, h)
			if err != nil {
				return nil, err
			}
			answer = append(answer, b.Encode())
		}
		if l.simulation.faulty.Load() && len(answer) > 0 {
			answer = l.corrupted(dice, answer)
		}
		return answer, nil
	})
	if err == nil && l.from.unverified != nil {
		l.from.unverified.take(blocks)
	}
	return blocks, err
}

// corrupted returns a response as altered by a faulty network or peer.
func (l *link) corrupted(dice *rand.Rand, answer [][]byte) [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, j := dice.IntN(len(answer)), dice.IntN(len(answer))
	kind := dice.IntN(10)
	if kind < 7 {
		l.simulation.count(func(r *Report) *int { return &r.Corrupted })
	}
	switch kind {
	case 0: // fewer blocks
		return answer[:i]
	case 1: // a block cut off
		answer[i] = answer[i][:dice.IntN(len(answer[i]))]
	case 2, 3: // a flipped bit
		answer[i][dice.IntN(len(answer[i]))] ^= 1 << dice.IntN(8)
	case 4: // reordered
		answer[i], answer[j] = answer[j], answer[i]
	case 5: // an earlier response
		answer, l.earlier = l.earlier, answer
	case 6: // some blocks twice
		answer = slices.Concat(answer[:i], answer[max(0, i-1):])
	}
	return answer
}

var errNotTold = errors.New("this node does not tell it")

func (l *link) Receipts(context.Context, []types.TxID) ([]*replica.UnverifiedReceipt, error) {
	return nil, errNotTold // only needed by people who analyse a halt
}

func (l *link) Accesses(ctx context.Context, h types.Height) ([]types.Access, error) {
	return call(ctx, l, "accesses", h, func(_ context.Context, p *process, _ *rand.Rand) ([]types.Access,
		error) {
		return p.store.Accesses(h)
	})
}

// Headers, Bundle, Value and Code are used only by replicas without state.
func (l *link) Headers(context.Context, types.Height) ([]types.SignedHeader, error) {
	return nil, errNotTold
}
func (l *link) Bundle(context.Context, types.Height, int64) ([]byte, error) { return nil, errNotTold }
func (l *link) Ranges(context.Context) ([]replica.Ranges, error)            { return nil, errNotTold }
func (l *link) Range(context.Context, types.Height, types.Height, int64) ([]byte, error) {
	return nil, errNotTold
}
func (l *link) Value(context.Context, types.Height, []byte) ([]byte, tree.MerkleProof, error) {
	return nil, tree.MerkleProof{}, errNotTold
}
func (l *link) Code(context.Context, types.CodeHash) ([]byte, error) { return nil, errNotTold }

func (l *link) Watch(ctx context.Context, head func(types.Height)) error {
	for told := types.Height(0); ; {
		h, err := call(ctx, l, "watch", told, func(ctx context.Context, p *process, _ *rand.Rand) (types.Height, error) {
			return told + 1, p.store.WaitHeight(ctx, told+1)
		})
		if err != nil {
			return err
		}
		told = h
		head(h)
	}
}

func (l *link) Send(ctx context.Context, encoded [][]byte) []error {
	l.mu.Lock()
	l.sent++
	number := l.sent
	l.mu.Unlock()
	errs, err := call(ctx, l, "send", number, func(ctx context.Context, p *process, _ *rand.Rand) ([]error, error) {
		var errs []error
		for _, r := range p.sends.AddMany(ctx, encoded, l.from.node.name) {
			if r.Err != nil { // as over JSON-RPC
				r.Err = &replica.Refusal{Why: replica.RefusedForGood, Err: r.Err}
			}
			errs = append(errs, r.Err)
		}
		return errs, nil
	})
	if err != nil {
		errs = slices.Repeat([]error{err}, len(encoded))
	}
	return errs
}
