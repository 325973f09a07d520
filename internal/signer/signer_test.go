package signer

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

var genesis = types.BlockHash{0xee}

const chainID = 7

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func producerKey(t *testing.T) crypto.PrivateKey {
	t.Helper()
	key, err := crypto.NewPrivateKey([32]byte{31: 9})
	check(t, err)
	return key
}

func identity(t *testing.T) p2p.Identity {
	t.Helper()
	pem, err := p2p.NewKey()
	check(t, err)
	i, err := p2p.ReadIdentity(pem)
	check(t, err)
	return i
}

// headers is a chain of headers by a key, from height 1 on.
func headers(key crypto.PrivateKey, count int) []types.Header {
	all := make([]types.Header, count)
	parent := genesis
	for i := range all {
		all[i] = types.Header{ChainID: chainID, Height: types.Height(i + 1), Parent: parent, Producer: key.PublicKey()}
		parent = all[i].Hash()
	}
	return all
}

func newServer(t *testing.T, files kv.FS, path string, clients ...p2p.Pin) *Server {
	t.Helper()
	lock, err := signstate.Open(files, path, genesis)
	check(t, err)
	t.Cleanup(func() { check(t, lock.Close()) })
	return NewServer(Config{
		Key:      producerKey(t),
		ChainID:  chainID,
		Genesis:  genesis,
		Lock:     lock,
		Identity: identity(t),
		Clients:  clients,
		Log:      slog.New(slog.DiscardHandler),
	})
}

// serve serves until stop, which returns the result.
func serve(t *testing.T, s *Server) (address string, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() })
	return listener.Addr().String(), stop
}

func newClient(t *testing.T, s *Server, address string, i p2p.Identity) *Client {
	t.Helper()
	c := &Client{
		Address:  address,
		Pin:      s.config.Identity.Pin(),
		Identity: i,
		Producer: s.config.Key.PublicKey(),
		Genesis:  genesis,
		Log:      slog.New(slog.DiscardHandler),
	}
	t.Cleanup(func() { check(t, c.Close()) })
	return c
}

// After block 3: requests that are signed, and requests that each break a rule. A refused request changes nothing.
func TestRules(t *testing.T) {
	s := newServer(t, kv.FS{}, filepath.Join(t.TempDir(), "signed"))
	chain := headers(s.config.Key, 5)
	for _, h := range chain[:3] {
		if a := s.sign(request{genesis, h}); a.verdict != signed {
			t.Fatalf("block %d: error %v", h.Height, a.err())
		}
	}
	change := func(h types.Header, to func(*types.Header)) types.Header {
		to(&h)
		return h
	}
	restate := func(h *types.Header) { h.StateRoot[0]++ }
	reparent := func(h *types.Header) { h.Parent[0]++ }
	for name, tc := range map[string]struct {
		request request
		want    error
	}{
		"another genesis":     {request{types.BlockHash{1}, chain[3]}, ErrOtherChain},
		"another chain id":    {request{genesis, change(chain[3], func(h *types.Header) { h.ChainID++ })}, ErrOtherChain},
		"another producer":    {request{genesis, change(chain[3], func(h *types.Header) { h.Producer[3]++ })}, ErrOtherKey},
		"a second of height":  {request{genesis, change(chain[2], restate)}, signstate.ErrSigned},
		"a lower height":      {request{genesis, chain[1]}, signstate.ErrSigned},
		"another one's child": {request{genesis, change(chain[3], reparent)}, signstate.ErrSigned},
	} {
		if a := s.sign(tc.request); !errors.Is(a.err(), tc.want) || a.signature != (types.Signature{}) {
			t.Errorf("%s: %v, want %v", name, a.err(), tc.want)
		}
		if last := s.config.Lock.Last(); last != signstate.BlockOf(chain[2]) {
			t.Fatalf("%s: block %d is held", name, last.Height)
		}
	}
	first, again := s.sign(request{genesis, chain[3]}), s.sign(request{genesis, chain[3]})
	if first != again || !(types.SignedHeader{Header: chain[3], Seal: types.Seal{Signature: again.signature}}).VerifySeal() {
		t.Errorf("the same header twice: %v and %v", first, again)
	}
}

// The power fails at any point while a block is signed. A signer restarted on that disk gives an answered request the
// same signature again, and refuses any other block of that height.
func TestCrashes(t *testing.T) {
	const path = "signed"
	chain := headers(producerKey(t), 3)
	other := chain[2]
	other.StateRoot[0]++
	for point := 0; ; point++ {
		disk := kv.NewCrashDisk()
		s := newServer(t, disk.FS(), path)
		for _, h := range chain[:2] {
			check(t, s.sign(request{genesis, h}).err())
		}
		writes := 0
		disk.OnWrite(func() error {
			if writes++; writes > point {
				return errors.New("the power is gone")
			}
			return nil
		})
		a := s.sign(request{genesis, chain[2]})
		for _, unsynced := range []int{0, 50, 100} { // also between the sync and the answer
			again := newServer(t, disk.Crash(unsynced, uint64(point)).FS(), path)
			held := again.config.Lock.Last()
			if a.verdict == signed && held != signstate.BlockOf(chain[2]) {
				t.Fatalf("point %d: an answered block is not held after a crash: the lock has %d", point, held.Height)
			}
			if held == signstate.BlockOf(chain[2]) {
				if b := again.sign(request{genesis, other}); !errors.Is(b.err(), signstate.ErrSigned) {
					t.Fatalf("point %d: error %v", point, b.err())
				}
			}
			b := again.sign(request{genesis, chain[2]})
			if b.err() != nil || a.verdict == signed && a.signature != b.signature {
				t.Fatalf("point %d: asked again: error %v", point, b.err())
			}
		}
		if a.verdict == signed {
			if point == 0 {
				t.Fatal("nothing was written")
			}
			return
		}
		if a.verdict != faulty || s.sign(request{genesis, chain[2]}).verdict != faulty {
			t.Fatalf("point %d: %v, and it goes on", point, a.err())
		}
	}
}

// Two nodes with one key request two blocks of each height at once: one of them gets each.
func TestOneSignatureAHeight(t *testing.T) {
	a, b := identity(t), identity(t)
	s := newServer(t, kv.FS{}, filepath.Join(t.TempDir(), "signed"), a.Pin(), b.Pin())
	address, _ := serve(t, s)
	clients := []*Client{newClient(t, s, address, a), newClient(t, s, address, b)}
	parent := genesis
	for height := types.Height(1); height <= 50; height++ {
		var running sync.WaitGroup
		var asked [2]types.Header
		var errs [2]error
		for i, c := range clients {
			asked[i] = types.Header{
				ChainID: chainID, Height: height, Parent: parent, Producer: c.Producer, Timestamp: uint64(i),
			}
			running.Go(func() { _, errs[i] = c.Sign(t.Context(), asked[i]) })
		}
		running.Wait()
		won := 0
		if errs[0] != nil {
			won = 1
		}
		if errs[won] != nil || !errors.Is(errs[1-won], signstate.ErrSigned) {
			t.Fatalf("block %d: %v", height, errs)
		}
		if clients[won].Fault() != nil || !errors.Is(clients[1-won].Fault(), signstate.ErrSigned) {
			t.Fatalf("faults: got %v, error %v", clients[won].Fault(), clients[1-won].Fault())
		}
		parent = asked[won].Hash()
	}
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// has counts the lines that contain all of some words.
func (l *lines) has(words ...string) (count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			count++
		}
	}
	return count
}

// Of two nodes that request blocks of the same heights, the second learns of the first. The first learns of the second
// if that one continues to ask. The signer logs both, each once.
func TestBothNodesAreToldOf(t *testing.T) {
	a, b := identity(t), identity(t)
	s := newServer(t, kv.FS{}, filepath.Join(t.TempDir(), "signed"), a.Pin(), b.Pin())
	var atSigner, atFirst lines
	s.config.Log = slog.New(slog.NewTextHandler(&atSigner, nil))
	address, _ := serve(t, s)
	first, second := newClient(t, s, address, a), newClient(t, s, address, b)
	first.Log = slog.New(slog.NewTextHandler(&atFirst, nil))
	chain := headers(s.config.Key, 4)
	sign := func(h types.Header, told int) {
		t.Helper()
		_, err := first.Sign(t.Context(), h)
		check(t, err)
		if n := atFirst.has("Another copy of this node may be running"); n != told {
			t.Errorf("after block %d the first node was told of another %d times, want %d", h.Height, n, told)
		}
	}
	sign(chain[0], 0)
	other := chain[0]
	other.StateRoot[0]++
	for range 3 {
		_, err := second.Sign(t.Context(), other)
		if !errors.Is(err, signstate.ErrSigned) || !strings.Contains(err.Error(), "for another node or a copy of this one") {
			t.Errorf("the second node is told: error %v, want %v, and %q",
				err, signstate.ErrSigned, "for another node or a copy of this one")
		}
	}
	if n := atSigner.has("refused to sign a block", "pin="+b.Pin().String(), a.Pin().String()); n != 1 {
		t.Errorf("the signer told of both %d times, want 1", n)
	}
	sign(chain[1], 1)
	sign(chain[2], 1)
	s.mu.Lock()
	s.last.refusedAt = s.last.refusedAt.Add(-contestedTime) // as if the second node had ended
	s.mu.Unlock()
	if sign(chain[3], 1); first.contested {
		t.Error("it is not forgotten that another one asked")
	}
}

// An end without the right pin gets nothing; and a signer that was away is asked again once it is back.
func TestPinsAndAway(t *testing.T) {
	known, path := identity(t), filepath.Join(t.TempDir(), "signed")
	s := newServer(t, kv.FS{}, path, known.Pin())
	address, stop := serve(t, s)
	h := headers(s.config.Key, 1)[0]
	if _, err := newClient(t, s, address, identity(t)).Sign(t.Context(), h); !errors.Is(err, ErrAway) {
		t.Fatalf("a stranger: error %v, want %v", err, ErrAway)
	}
	wrong := newClient(t, s, address, known)
	wrong.Pin[0]++
	if _, err := wrong.Sign(t.Context(), h); !errors.Is(err, ErrAway) || !strings.Contains(err.Error(), "--signer-pin") ||
		strings.Contains(err.Error(), "cairn cluster") {
		t.Fatalf("got %v of another key at the signer's address, want the advice for a signer", err)
	}
	if held := s.config.Lock.Last(); held.Height != 0 {
		t.Fatalf("block %d is held, want 0", held.Height)
	}
	c := newClient(t, s, address, known)
	first, err := c.Sign(t.Context(), h)
	check(t, err)
	check(t, stop())
	if _, err := c.Sign(t.Context(), h); !errors.Is(err, ErrAway) || !errors.Is(c.Fault(), ErrAway) {
		t.Fatalf("a signer that is gone: error %v", err)
	}
	c.Probe(t.Context())
	if !errors.Is(c.Fault(), ErrAway) {
		t.Fatalf("a probe of a signer that is gone: error %v", c.Fault())
	}
	c.Address, _ = serve(t, s)
	if c.Probe(t.Context()); c.Fault() != nil {
		t.Fatalf("a probe of a signer that is back: error %v", c.Fault())
	}
	again, err := c.Sign(t.Context(), h)
	if err != nil || again != first || c.Fault() != nil {
		t.Fatalf("a signer that is back: got %v, error %v", err, c.Fault())
	}
}

// Silent connections, even more than there is room for, do not keep a node out, and neither do its own earlier ones.
func TestOthersKeepNoNodeOut(t *testing.T) {
	known := identity(t)
	s := newServer(t, kv.FS{}, filepath.Join(t.TempDir(), "signed"), known.Pin())
	address, _ := serve(t, s)
	for range 2 * maxStrangers {
		silent, err := net.Dial("tcp", address)
		check(t, err)
		defer silent.Close()
	}
	all := headers(s.config.Key, 1)
	first := newClient(t, s, address, known)
	if _, err := first.Sign(t.Context(), all[0]); err != nil {
		t.Fatalf("beside strangers: error %v", err)
	}
	config := known.TLS(&first.Pin, protocol)
	for range 2 * maxStrangers {
		lost, err := tls.Dial("tcp", address, config)
		check(t, err)
		defer lost.Close()
	}
	if _, err := newClient(t, s, address, known).Sign(t.Context(), all[0]); err != nil {
		t.Fatalf("beside connections that it lost: error %v", err)
	}
	if _, err := first.Sign(t.Context(), all[0]); err != nil {
		t.Fatalf("once another took its place: error %v", err)
	}
}

// The error about a signer that hangs states that it does not answer.
func TestHangingSigner(t *testing.T) {
	s := newServer(t, kv.FS{}, filepath.Join(t.TempDir(), "signed"))
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer hanging.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = newClient(t, s, hanging.Addr().String(), identity(t)).Sign(ctx, headers(s.config.Key, 1)[0])
	if !errors.Is(err, ErrAway) || !strings.Contains(err.Error(), ": it does not answer: ") {
		t.Fatal(err)
	}
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add(request{genesis, types.Header{Height: 3}}.encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRequest(b)
		if (err == nil) != (len(b) == requestSize) {
			t.Fatalf("%d bytes: error %v", len(b), err)
		}
		if err == nil && !bytes.Equal(r.encode(), b) {
			t.Fatal("it is encoded otherwise")
		}
	})
}

func FuzzDecodeAnswer(f *testing.F) {
	f.Add(answer{verdict: signed, signature: types.Signature{1}}.encode())
	f.Add(answer{verdict: contested, signature: types.Signature{2}}.encode())
	f.Add(answer{verdict: locked, held: signstate.Block{Height: 4}}.encode())
	f.Add(make([]byte, answerSize+1))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := decodeAnswer(b)
		if err != nil {
			return
		}
		if again, err := decodeAnswer(a.encode()); err != nil || again != a ||
			(a.err() == nil) != (a.verdict == signed || a.verdict == contested) {
			t.Fatalf("got %v, error %v", again, err)
		}
	})
}

// A full disk under the sign state ends the signer at the block that it cannot record, which gets no signature. Once
// there is room, a restarted signer signs this very block, and no other of its height.
func TestFullDisk(t *testing.T) {
	const path = "signed"
	node, disk := identity(t), kv.NewCrashDisk()
	s := newServer(t, disk.FS(), path, node.Pin())
	address, stop := serve(t, s)
	chain := headers(s.config.Key, 2)
	c := newClient(t, s, address, node)
	if _, err := c.Sign(t.Context(), chain[0]); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left on device")
	disk.OnWrite(func() error { return full })
	if _, err := c.Sign(t.Context(), chain[1]); !errors.Is(err, ErrFaulty) || !errors.Is(c.Fault(), ErrFaulty) {
		t.Fatalf("on a full disk: error %v", err)
	}
	if _, err := c.Sign(t.Context(), chain[1]); err == nil {
		t.Fatal("it signs after it failed")
	}
	if err := stop(); !errors.Is(err, full) {
		t.Fatalf("it ended with %v, want %v", err, full)
	}
	disk.OnWrite(nil)
	again := newServer(t, disk.FS(), path, node.Pin())
	c = newClient(t, again, "", node)
	c.Address, _ = serve(t, again)
	if _, err := c.Sign(t.Context(), chain[1]); err != nil {
		t.Fatalf("with room again: error %v", err)
	}
	other := chain[1]
	other.StateRoot[0]++
	if _, err := c.Sign(t.Context(), other); !errors.Is(err, signstate.ErrSigned) {
		t.Fatalf("another of its height: error %v, want %v", err, signstate.ErrSigned)
	}
}
