package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// inclusionTime is the time after which an honest user stops waiting for inclusion.
const inclusionTime = 2 * time.Minute

// readPause is the pause between reads of the honest reader, and readPlace the last part of its address.
const (
	readPause = 20 * time.Millisecond
	readPlace = 250
)

// keyOf returns the key of a name.
func keyOf(name string) crypto.PrivateKey {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
	if err != nil {
		panic(err) // about one name in 2^127 has no valid key
	}
	return key
}

// signerOf returns the account of a name.
func signerOf(name string) client.Signer { return client.NewSigner(keyOf(name)) }

func signersOf(attack string, generation, count int) []client.Signer {
	signers := make([]client.Signer, count)
	for i := range signers {
		signers[i] = signerOf(fmt.Sprintf("flood %s %d %d", attack, generation, i))
	}
	return signers
}

// accountCounts holds the numbers of accounts of the attacks for which this is not their number of clients.
type accountCounts struct{ signatures, gaps, pool int }

func accountsOf(s settings) accountCounts {
	return accountCounts{
		signatures: s.clients * max(1, s.stock/s.clients/good), gaps: max(s.clients, s.stock/256),
		pool: (max(s.pool, s.stock) + window/2 - 1) / (window / 2),
	}
}

// allAccounts returns the accounts funded at genesis.
func allAccounts(s settings) (all []types.Account) {
	add := func(signers []client.Signer) {
		for _, signer := range signers {
			all = append(all, signer.Account())
		}
	}
	add(signersOf("honest", 0, s.honest))
	add([]client.Signer{signerOf(treasuryName), signerOf(authorName)})
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

// inclusion describes the inclusion of an honest transfer: the number of blocks after the newest one known to its
// sender, and the sender's waiting time.
type inclusion struct {
	blocks uint64
	took   time.Duration
}

// crowd is the group of honest users.
type crowd struct {
	mu       sync.Mutex
	included []inclusion
	errs     []error
}

// work makes the users send transfers, each after the inclusion of the previous one, until enough is closed. It returns
// when all transfers are included.
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
			if err != nil {
				pause(ctx, s.blockTime)
			}
		}
	})
}

// honestField returns the address of an honest user for a header field that the node trusts.
func honestField(user int) string { return fmt.Sprintf("203.0.%d.%d", 113+user>>8, byte(user)) }

// forwarded sends requests as a proxy does for a client.
type forwarded struct {
	*http.Transport

	client string
}

// RoundTrip implements [http.RoundTripper].
func (f forwarded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", f.client)
	return f.Transport.RoundTrip(r)
}

// clientOf returns a user's client, with its own source address until end is called.
func clientOf(n *node, user int) (c *client.Client, end func(), err error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+user>>8), byte(user))}, Timeout: answerTime}
	through := &http.Transport{TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}} // no HTTP/2
	direct := &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	for _, scheme := range []string{"http", "https"} {
		through.RegisterProtocol(scheme, forwarded{direct, honestField(user)})
	}
	c, err = client.New(n.RPC, client.WithTransport(through))
	return c, direct.CloseIdleConnections, err
}

// pay builds a transfer with the fees suggested by the node, sends it and waits for its receipt.
func (c *crowd) pay(ctx context.Context, n *node, from client.Signer, to types.Account, user int) (inclusion, error) {
	ctx, cancel := context.WithTimeout(ctx, inclusionTime)
	defer cancel()
	node, end, err := clientOf(n, user)
	if err != nil {
		return inclusion{}, err
	}
	defer end()
	tx, err := node.Build(ctx, from, client.Transfer(to, 1), client.TxFields{})
	if err != nil {
		return inclusion{}, fmt.Errorf("build a transfer: %w", err)
	}
	signed, err := client.Sign(ctx, from, tx)
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

// reader is an honest user who reads a balance repeatedly.
type reader struct {
	took []time.Duration
	errs []error
}

// work reads until enough is closed. Latency counts from the time at which a read was due. Reads that become due during
// another are not sent, but count as waiting with it.
func (r *reader) work(ctx context.Context, n *node, enough <-chan struct{}) {
	body := fmt.Appendf(
		nil, `{"jsonrpc":"2.0","id":1,"method":"svc_getBalance","params":[%q]}`, signerOf(authorName).Account(),
	)
	ask := postWith("X-Forwarded-For: "+honestField(readPlace)+"\r\n", body)
	var l *link
	defer func() {
		if l != nil {
			l.end()
		}
	}()
	for due := time.Now(); ; {
		select {
		case <-time.After(time.Until(due)):
		case <-enough:
			return
		case <-ctx.Done():
			return
		}
		if l == nil {
			var err error
			if l, err = n.dial(ctx, net.IPv4(127, 0, readPlace, 1)); err != nil {
				r.errs = append(r.errs, err)
				return
			}
		}
		outcome, goesOn := l.skim(ask.wire)
		if outcome != okay {
			r.errs = append(r.errs, fmt.Errorf("a balance: %s", outcome))
		}
		if !goesOn {
			l.end()
			l = nil
		}
		for now := time.Now(); !due.After(now); due = due.Add(readPause) {
			r.took = append(r.took, now.Sub(due))
		}
	}
}
