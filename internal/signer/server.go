package signer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

// Config configures a signer.
type Config struct {
	Key      crypto.PrivateKey // the producer's
	ChainID  uint64
	Genesis  types.BlockHash  // hash of block 0
	Lock     *signstate.State // sign state of the key on this chain
	Identity p2p.Identity
	Clients  []p2p.Pin // pins of the nodes that may ask
	// Took, unless nil, receives the duration of each answer, from the receipt of the whole request.
	Took func(time.Duration)
	Log  *slog.Logger
}

// Server signs headers on request. It is safe for concurrent use.
type Server struct {
	config Config
	slots  chan struct{} // one for each open connection
	open   connections

	mu    sync.Mutex // serialises signing, and guards the fields below
	fault error      // once set, nothing is signed
	stats Stats
	ended chan struct{}
	last  struct { // the last request since the start
		signedFor p2p.Pin         // node that was last given a signature
		refused   types.BlockHash // hash of the last header that was refused
		refusedAt time.Time       // last time a header was refused because its height was signed
	}
}

// Stats are a signer's counters since its start.
type Stats struct {
	Signed    uint64
	Refused   map[string]uint64 // headers, by reason
	Strangers uint64            // connections from nodes that may not ask
	Nodes     int               // connected now
	Height    types.Height      // height of the newest header that was ever signed
}

// Stats returns the signer's counters.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Refused = make(map[string]uint64, len(refusals))
	for _, why := range refusals {
		stats.Refused[why] = s.stats.Refused[why]
	}
	stats.Nodes, stats.Height = s.open.known(), s.config.Lock.Last().Height
	return stats
}

// Ready reports whether the signer can sign, and if not, the reason.
func (s *Server) Ready() (bool, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != nil {
		return false, s.fault.Error()
	}
	return true, ""
}

// contestedTime is the time after a refusal for which signatures are marked contested. The refused node retries every
// second.
const contestedTime = 10 * time.Second

// maxStrangers is the number of connections, beside one for each node, that may be open before they identify
// themselves.
const maxStrangers = 64

const (
	handshakeTime = 5 * time.Second
	writeTime     = 5 * time.Second
)

// NewServer returns a signer that does not yet listen.
func NewServer(config Config) *Server {
	slots := make(chan struct{}, maxStrangers+len(config.Clients))
	return &Server{config: config, slots: slots, ended: make(chan struct{}), stats: Stats{
		Refused: make(map[string]uint64),
	}}
}

// sign checks a header, records it in the sign state, and signs it. The same header gets the same signature again.
func (s *Server) sign(r request) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.config
	switch {
	case s.fault != nil:
		return answer{verdict: faulty}
	case r.genesis != c.Genesis || r.header.ChainID != c.ChainID:
		return answer{verdict: otherChain}
	case r.header.Producer != c.Key.PublicKey():
		return answer{verdict: otherKey}
	}
	if err := c.Lock.Record(r.header); errors.Is(err, signstate.ErrSigned) {
		s.last.refusedAt = time.Now()
		return answer{verdict: locked, held: c.Lock.Last()}
	} else if err != nil {
		return s.fail(err)
	}
	hash := r.header.Hash()
	signature, err := c.Key.Sign(hash[:], [32]byte{}) // deterministic: a retry gets the same signature
	if err != nil {
		return s.fail(err)
	}
	if at := s.last.refusedAt; !at.IsZero() && time.Since(at) < contestedTime {
		return answer{verdict: contested, signature: signature}
	}
	return answer{verdict: signed, signature: signature}
}

// fail stops all signing, as the content of the sign state's file is unknown. The caller must hold mu.
func (s *Server) fail(err error) answer {
	s.fault = err
	close(s.ended)
	return answer{verdict: faulty}
}

// Serve answers requests until ctx ends or the signer fails, then closes the listener. A request that was received
// whole before then is answered.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-ctx.Done():
		case <-s.ended:
		}
		end()
		_ = listener.Close() // Accept reports it
	}()
	var running sync.WaitGroup
	var failed error
	for {
		raw, err := listener.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = raw.Close() // the server is stopping
			}
			break
		}
		if err != nil {
			failed = fmt.Errorf("accept connections: %w", err)
			break
		}
		s.open.begin(raw)
		if !s.waitForSlot(ctx) {
			_ = raw.Close()
			continue
		}
		running.Go(func() {
			defer func() { <-s.slots }()
			s.serve(ctx, raw)
		})
	}
	end()
	running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(failed, s.fault)
}

// waitForSlot waits for a free connection slot until ctx ends. The oldest unidentified connection is closed to make
// room, so that strangers cannot keep a node out.
func (s *Server) waitForSlot(ctx context.Context) bool {
	select {
	case s.slots <- struct{}{}:
		return true
	default:
		s.open.displace()
	}
	select {
	case s.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// serve answers one connection until it ends.
func (s *Server) serve(ctx context.Context, raw net.Conn) {
	defer s.open.end(raw)
	log := s.config.Log.With("from", raw.RemoteAddr().String())
	conn := tls.Server(raw, s.config.Identity.TLS(nil, protocol))
	defer conn.Close()
	shaking, cancel := context.WithTimeout(ctx, handshakeTime)
	err := conn.HandshakeContext(shaking)
	cancel()
	if err != nil {
		log.Debug("a connection failed", "error", err)
		return
	}
	pin := p2p.PinOf(conn.ConnectionState())
	if !slices.Contains(s.config.Clients, pin) {
		s.mu.Lock()
		s.stats.Strangers++
		s.mu.Unlock()
		log.Warn("refused a connection from an unknown client: add --client PIN if it may request signatures", "pin", pin)
		return
	}
	s.open.identify(raw, pin)
	log.Info("a node connected", "pin", pin)
	// Cancellation interrupts the wait for the next request, not an answer.
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	buffer := make([]byte, requestSize)
	for {
		if _, err := io.ReadFull(conn, buffer); err != nil {
			log.Info("a node disconnected", "pin", pin, "error", err)
			return
		}
		r, err := decodeRequest(buffer)
		if err != nil {
			log.Warn("refused a request", "pin", pin, "error", err)
			return
		}
		came := time.Now()
		a := s.sign(r)
		if s.config.Took != nil {
			s.config.Took(time.Since(came))
		}
		s.logAnswer(log, pin, r.header, a)
		_ = conn.SetWriteDeadline(time.Now().Add(writeTime)) // Write reports a failure
		if _, err := conn.Write(a.encode()); err != nil {
			log.Info("cannot send the answer to a node", "pin", pin, "error", err)
			return
		}
	}
}

// logAnswer counts and logs an answer to a node. It logs a repeated refusal of the same header only once.
func (s *Server) logAnswer(log *slog.Logger, pin p2p.Pin, h types.Header, a answer) {
	hash := h.Hash()
	s.mu.Lock()
	before := s.last
	if a.err() == nil {
		s.last.signedFor = pin
		s.stats.Signed++
	} else {
		s.last.refused = hash
		s.stats.Refused[refusals[a.verdict]]++
	}
	s.mu.Unlock()
	log = log.With("pin", pin, "height", h.Height, "hash", hash)
	switch err := a.err(); {
	case err == nil || before.refused == hash:
		log.Debug("answered a node", "error", err)
	case a.verdict == faulty:
		log.Error("cannot sign: no more blocks will be signed until the signer is restarted", "error", err)
	case before.signedFor == (p2p.Pin{}):
		log.Warn("refused to sign a block", "error", err)
	default:
		log.Warn("refused to sign a block", "error", err, "signed last for pin", before.signedFor)
	}
}

// connections holds the open connections: those not yet identified, and one for each node.
type connections struct {
	mu        sync.Mutex
	strangers []net.Conn // not yet identified, oldest first
	nodes     map[p2p.Pin]net.Conn
}

// begin adds a connection that is not yet identified.
func (c *connections) begin(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strangers = append(c.strangers, conn)
}

// displace closes the oldest connection that is not yet identified.
func (c *connections) displace() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.strangers) > 0 {
		_ = c.strangers[0].Close() // its serve goroutine then ends
		c.strangers = c.strangers[1:]
	}
}

// known returns the number of connected nodes.
func (c *connections) known() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.nodes)
}

// identify marks a connection as a node's, and closes the node's earlier one: the node has reconnected, and the earlier
// connection may have died without notice.
func (c *connections) identify(conn net.Conn, pin p2p.Pin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(conn)
	if earlier := c.nodes[pin]; earlier != nil {
		_ = earlier.Close() // its serve goroutine then ends
	}
	if c.nodes == nil {
		c.nodes = make(map[p2p.Pin]net.Conn)
	}
	c.nodes[pin] = conn
}

// end removes a closed connection.
func (c *connections) end(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(conn)
	for pin, of := range c.nodes {
		if of == conn {
			delete(c.nodes, pin)
		}
	}
}

func (c *connections) forget(conn net.Conn) {
	c.strangers = slices.DeleteFunc(c.strangers, func(s net.Conn) bool { return s == conn })
}
