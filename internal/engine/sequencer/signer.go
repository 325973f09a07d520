package sequencer

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/sealed"
	"github.com/cairn-chain/cairn/types"
)

// Signer signs the headers of blocks with the producer's key.
type Signer interface {
	// PublicKey returns the producer's public key.
	PublicKey() [32]byte
	// Sign signs a header. Signing the same header again gives the same signature.
	Sign(ctx context.Context, h types.Header) (types.Signature, error)
}

// Local returns a Signer with a key in this process.
func Local(key crypto.PrivateKey) Signer { return local{key} }

type local struct{ key crypto.PrivateKey }

func (l local) PublicKey() [32]byte { return l.key.PublicKey() }

func (l local) Sign(_ context.Context, h types.Header) (types.Signature, error) {
	hash := h.Hash()
	return l.key.Sign(hash[:], [32]byte{})
}

// signPause is the time between two requests to a signer that does not sign.
const signPause = time.Second

// errEnded is returned for a block that was still waiting for its signature when the engine was ended.
var errEnded = errors.New("the engine ended before the block was signed")

// decided stores the block that another process is asked to sign. That process remembers the block it signed before
// this node's chain has it: if the block were lost, no other could be made at its height.
type decided struct {
	path string
	log  *slog.Logger
}

// AskSigner makes the engine expect a key in another process, which may be unavailable. The engine writes each block to
// the file before it asks the signer, and asks until the signer signs. A restart continues with the block in the file.
// AskSigner must be called before Run.
func (s *Solo) AskSigner(path string, log *slog.Logger) { s.decide = &decided{path, log} }

// keep writes the pending block to disk and returns once it is there.
func (d *decided) keep(block *ledger.PendingBlock) error {
	if d == nil {
		return nil
	}
	return kv.FS{}.WriteFile(d.path, sealed.Bytes(block.Encode()))
}

// sign gets a header signed. With a remote signer, it asks until the signer signs or the engine ends.
func (s *Solo) sign(h types.Header) (types.Signature, error) {
	for told := ""; ; {
		signature, err := s.key.Sign(s.running, h)
		switch {
		case s.decide == nil:
			return signature, err
		case err == nil:
			if told != "" {
				s.decide.log.Warn("the signer is signing again", "height", h.Height)
			}
			return signature, nil
		case s.running.Err() != nil:
			return signature, errEnded
		case cause(err) != told:
			told = cause(err)
			s.decide.log.Error("this node produces no blocks until its signer signs", "height", h.Height, "error", err)
		}
		select {
		case <-s.clock.After(signPause):
		case <-s.running.Done():
			return signature, errEnded
		}
	}
}

// cause returns the first part of a signer's error. The rest, such as the newest block that it signed, may differ each
// time.
func cause(err error) string {
	text, _, _ := strings.Cut(err.Error(), ":")
	return text
}

// complete finishes the block that was decided before the restart, unless the chain has moved on without it.
func (s *Solo) complete() error {
	if s.decide == nil || s.Status().State != Producing {
		return nil
	}
	encoded, err := os.ReadFile(s.decide.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if encoded, err = sealed.ParseBytes(encoded); err != nil {
		return emergency.DamagedUnsigned(s.decide.path, err)
	}
	c, err := ledger.ReceiveProposal(s.ledger.Network(), encoded)
	if err != nil {
		return emergency.DamagedUnsigned(s.decide.path, err)
	}
	h, tip := c.Header(), s.ledger.Tip()
	if h.Parent != tip.Hash || h.Producer != s.key.PublicKey() {
		return nil
	}
	block, err := s.ledger.Complete(c, s.lock, func(types.BlockHash) (types.Signature, error) { return s.sign(h) })
	if err != nil {
		return fatal{err}
	}
	return s.made(block)
}
