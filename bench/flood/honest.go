package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// inclusionTime is how long an honest user waits for a transfer to be included.
const inclusionTime = 2 * time.Minute

// signerOf is the account with a name.
func signerOf(name string) client.Signer {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
	if err != nil {
		panic(err) // of one name in 2^127
	}
	return client.NewSigner(key)
}

func signersOf(attack string, generation, count int) []client.Signer {
	signers := make([]client.Signer, count)
	for i := range signers {
		signers[i] = signerOf(fmt.Sprintf("flood %s %d %d", attack, generation, i))
	}
	return signers
}

// accountCounts are how many accounts the attacks have whose number is not that of their clients.
type accountCounts struct{ signatures, gaps, pool int }

func accountsOf(s settings) accountCounts {
	return accountCounts{
		signatures: s.clients * max(1, s.stock/s.clients/good), gaps: max(s.clients, s.stock/256),
		pool: (max(s.pool, s.stock) + window/2 - 1) / (window / 2),
	}
}

// allAccounts are the accounts that have coins at genesis.
func allAccounts(s settings) (all []types.Account) {
	add := func(signers []client.Signer) {
		for _, signer := range signers {
			all = append(all, signer.Account())
		}
	}
	add(signersOf("honest", 0, s.honest))
	for generation := range 2 {
		add(signersOf("garbage", generation, 1))
		add(signersOf("liar", generation, 1))
		add(signersOf("signatures", generation, accountsOf(s).signatures))
		add(signersOf("replays", generation, s.clients))
		add(signersOf("gaps", generation, accountsOf(s).gaps))
		add(signersOf("replacements", generation, s.clients))
		add(signersOf("pool", generation, accountsOf(s).pool))
	}
	return all
}

// inclusion is what became of an honest transfer: how many blocks after the newest one that its sender knew it was
// included, and how long its sender waited.
type inclusion struct {
	blocks uint64
	took   time.Duration
}

// crowd is the honest users.
type crowd struct {
	mu       sync.Mutex
	included []inclusion
	errs     []error
}

// work lets users send transfers, one after the other's inclusion, until enough is closed, and returns when all that
// was sent is included.
func (c *crowd) work(ctx context.Context, s settings, n *node, enough <-chan struct{}) {
	users := signersOf("honest", 0, s.honest)
	inParallel(len(users), func(i int) {
		for {
			select {
			case <-enough:
				return
			default:
			}
			got, err := c.pay(ctx, n, users[i], users[(i+1)%len(users)].Account(), i)
			if ctx.Err() != nil {
				return
			}
			c.mu.Lock()
			if err != nil {
				c.errs = append(c.errs, err)
			} else {
				c.included = append(c.included, got)
			}
			c.mu.Unlock()
		}
	})
}

// clientOf is a user's client, whose connections come from an address of its own.
func clientOf(n *node, user int) (*client.Client, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+user>>8), byte(user))}, Timeout: answerTime}
	return client.New(n.RPC, client.WithTransport(&http.Transport{DialContext: dialer.DialContext}))
}

// pay builds a transfer with the fees that the node suggests, sends it and waits for its receipt.
func (c *crowd) pay(ctx context.Context, n *node, from client.Signer, to types.Account, user int) (inclusion, error) {
	ctx, cancel := context.WithTimeout(ctx, inclusionTime)
	defer cancel()
	node, err := clientOf(n, user)
	if err != nil {
		return inclusion{}, err
	}
	defer node.Close()
	tx, err := node.Build(ctx, from.Account(), client.Transfer(to, 1), client.TxFields{})
	if err != nil {
		return inclusion{}, fmt.Errorf("build a transfer: %w", err)
	}
	signed, err := from.Sign(tx)
	if err != nil {
		return inclusion{}, err
	}
	height, err := node.BlockNumber(ctx)
	if err != nil {
		return inclusion{}, fmt.Errorf("ask for the height: %w", err)
	}
	begin := time.Now()
	receipt, err := node.SendAndWait(ctx, signed)
	if err == nil {
		err = client.Failure(receipt)
	}
	if err != nil {
		return inclusion{}, fmt.Errorf(
			"send a transfer with the max fee %d and the priority fee %d: %w", tx.MaxFeePerGas, tx.MaxPriorityFeePerGas, err,
		)
	}
	return inclusion{blocks: uint64(receipt.BlockHeight - height), took: time.Since(begin)}, nil
}
