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
	// PublicKey is the producer's.
	PublicKey() [32]byte
	// Sign signs a header. The same header again gets the same signature.
	Sign(ctx context.Context, h types.Header) (types.Signature, error)
}

// Local is a key in this process.
func Local(key crypto.PrivateKey) Signer { return local{key} }

type local struct{ key crypto.PrivateKey }

func (l local) PublicKey() [32]byte { return l.key.PublicKey() }

func (l local) Sign(_ context.Context, h types.Header) (types.Signature, error) {
	hash := h.Hash()
	return l.key.Sign(hash[:], [32]byte{})
}

// signPause is the time between two questions of a signer that does not sign.
const signPause = time.Second

// errEnded is the error of a block whose signature was waited for when the engine was to end.
var errEnded = errors.New("the engine ended before the block was signed")

// decided is what the engine decided on and asks another process to sign. That one remembers what it signed before the
// block is in the chain here: were the block forgotten, no other could be made.
type decided struct {
	path string
	log  *slog.Logger
}

// AskSigner says that the key is in another process, which may be away. Each block is written to the file before the
// signer is asked for it, and the signer is asked until it signs. A new start goes on with the block of the file. It is
// called before Run.
func (s *Solo) AskSigner(path string, log *slog.Logger) { s.decide = &decided{path, log} }

// keep returns when the draft is on disk.
func (d *decided) keep(draft *ledger.Draft) error {
	if d == nil {
		return nil
	}
	return kv.FS{}.WriteFile(d.path, sealed.Bytes(draft.Encode()))
}

// sign has a header signed: by another process whenever that does.
func (s *Solo) sign(h types.Header) (types.Signature, error) {
	for told := ""; ; {
		signature, err := s.key.Sign(s.running, h)
		switch {
		case s.decide == nil:
			return signature, err
		case err == nil:
			if told != "" {
				s.decide.log.Warn("the signer signs again", "height", h.Height)
			}
			return signature, nil
		case s.running.Err() != nil:
			return signature, errEnded
		case cause(err) != told:
			told = cause(err)
			s.decide.log.Error("this node holds until its signer signs", "height", h.Height, "error", err)
		}
		select {
		case <-s.clock.After(signPause):
		case <-s.running.Done():
			return signature, errEnded
		}
	}
}

// cause is what the error of a signer begins with. What follows, such as the newest block that it signed, may be new
// each time.
func cause(err error) string {
	text, _, _ := strings.Cut(err.Error(), ":")
	return text
}

// complete goes on with the block that was decided before the start, if the chain has not gone on without it.
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
	c, err := ledger.ReceiveProposal(encoded, func(types.TxID) *types.VerifiedTx { return nil })
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
