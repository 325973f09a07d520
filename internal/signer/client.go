package signer

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/types"
)

// attemptTime bounds one attempt to connect to a signer and get its answer.
const attemptTime = 3 * time.Second

// Client sends headers to a signer over one persistent connection. It is safe for concurrent use.
type Client struct {
	// Address (host:port) and Pin identify the signer. Producer is the public key of the key that it holds.
	Address  string
	Pin      p2p.Pin
	Identity p2p.Identity // this node's
	Producer types.PublicKey
	// Genesis is the hash of the chain's block 0. Genesis and Log must be set before Sign is called.
	Genesis types.BlockHash
	Log     *slog.Logger

	asking    sync.Mutex // serialises Sign, Probe and Close, and guards conn and contested
	conn      net.Conn   // nil before the first connection and after a fault
	contested bool       // the last verdict was contested

	mu    sync.Mutex
	fault error // error of the last attempt, or nil
}

// ErrAway is returned when the signer does not answer.
var ErrAway = errors.New("cannot reach the signer")

var errOtherSignature = errors.New("the signer's signature does not verify with the producer's key")

// PublicKey returns the producer's public key.
func (c *Client) PublicKey() [32]byte { return c.Producer }

// Sign returns the signer's signature of a header. The error is [ErrAway], or the signer's reason to refuse:
// signstate.ErrSigned, [ErrOtherChain], [ErrOtherKey] or [ErrFaulty]. After any error, Sign may be called again with
// the same header.
func (c *Client) Sign(ctx context.Context, h types.Header) (types.Signature, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	signature, err := c.sign(ctx, h)
	if ctx.Err() == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.fault = err
	}
	return signature, err
}

// Fault returns the error of the last attempt, or nil if it succeeded or there was none.
func (c *Client) Fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// Probe reconnects if the last attempt failed, and clears the fault if that succeeds. It is for nodes that are not
// about to sign.
func (c *Client) Probe(ctx context.Context) {
	c.asking.Lock()
	defer c.asking.Unlock()
	if c.Fault() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	err := c.reconnect(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		err = c.away(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = err
}

// reconnect replaces the connection. The caller must hold asking.
func (c *Client) reconnect(ctx context.Context) (err error) {
	if c.conn != nil {
		_ = c.conn.Close() // it is being replaced
	}
	dialer := tls.Dialer{Config: c.Identity.TLS(&c.Pin, protocol)}
	if c.conn, err = dialer.DialContext(ctx, "tcp", c.Address); err != nil {
		c.conn = nil
	}
	return err
}

// Close closes the connection.
func (c *Client) Close() error {
	c.asking.Lock()
	defer c.asking.Unlock()
	if c.conn == nil {
		return nil
	}
	err := c.conn.Close()
	c.conn = nil
	return err
}

func (c *Client) sign(ctx context.Context, h types.Header) (types.Signature, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	kept := c.conn != nil
	a, err := c.ask(ctx, request{c.Genesis, h})
	if err != nil && kept && ctx.Err() == nil { // an idle connection may have ended long ago
		a, err = c.ask(ctx, request{c.Genesis, h})
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errors.New("it does not answer")
	}
	if err != nil {
		return types.Signature{}, c.away(err)
	}
	if err := a.err(); err != nil {
		return types.Signature{}, err
	}
	if !(types.SignedHeader{Header: h, Seal: types.Seal{Signature: a.signature}}).VerifySeal() {
		return types.Signature{}, errOtherSignature
	}
	if a.verdict == contested && !c.contested {
		c.Log.Warn("possible double-sign: the signer was asked for another block of a height that it already signed. " +
			"Another copy of this node may be running: stop one of them")
	}
	c.contested = a.verdict == contested
	return a.signature, nil
}

// away wraps a connection error in [ErrAway].
func (c *Client) away(err error) error {
	if refusal, ok := errors.AsType[*p2p.Refusal](err); ok && refusal.Cause == p2p.CausePin {
		return emergency.SignerOfOtherPin(c.Address, errors.Join(ErrAway, err))
	}
	return emergency.SignerAway(c.Address, err, errors.Join(ErrAway, err))
}

// ask sends a request and reads its answer. After an error it drops the connection.
func (c *Client) ask(ctx context.Context, r request) (a answer, err error) {
	if c.conn == nil {
		if err := c.reconnect(ctx); err != nil {
			return a, err
		}
	}
	conn := c.conn
	defer func() {
		if err != nil {
			_ = conn.Close() // the first error is reported
			c.conn = nil
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := conn.Write(r.encode()); err != nil {
		return a, err
	}
	buffer := make([]byte, answerSize)
	if _, err := io.ReadFull(conn, buffer); err != nil {
		if errors.Is(err, io.EOF) {
			return a, errors.New("it closed the connection: check that its --client setting has this node's pin")
		}
		return a, err
	}
	return decodeAnswer(buffer)
}
