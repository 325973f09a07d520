package sender

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// ownIDs is the prefix of IDs assigned by the sender, fillerIDs the prefix of fillers, and restIDs the prefix for
// transfers of a sweep's remainder.
const (
	ownIDs    = "cairn:"
	fillerIDs = ownIDs + "filler:"
	restIDs   = ownIDs + "rest:"
)

// never is a time that is never reached. Times are relative to the sender's start.
const never = time.Duration(math.MaxInt64)

// version is a signed transaction of a job: the first, a replacement with higher fees, or one that cancels the job.
type version struct {
	tx      types.Transaction
	raw     []byte
	hash    types.TxID
	cancels bool
}

// job is an action to send. It is queued without a nonce, then open at one until a block has used that nonce.
type job struct {
	id     string
	digest types.Digest
	said   Job            // guarded by the sender's lock
	sweep  *types.Account // recipient of everything, for a sweep
	placed bool           // it holds a slot of places, released at its end
	then   func()         // called at the end, whatever the outcome; may be nil

	accepted, ended promise

	// The progress of sending the job, which the pump owns:
	action    client.Action // empty for a sweep until its value is known
	nonce     uint64
	until     *uint64 // valid_until of all transactions, from the first on; nil: without end
	versions  []version
	out       bool          // a node may have its bytes: they were accepted once, or a request had no response
	pooled    bool          // the pool is believed to have it
	due       time.Duration // time of the next attempt to post it
	since     types.Height  // height at which it was last posted or replaced
	undecided bool
	tooCheap  bool
}

// promise is closed once its owner has resolved it.
type promise struct {
	decided chan struct{}
	hash    types.TxID
	receipt api.Receipt
	err     error
}

func (p *promise) isDecided() bool {
	select {
	case <-p.decided:
		return true
	default:
		return false
	}
}

func newJob(id string, digest types.Digest, action client.Action, said Job) *job {
	return &job{
		id:       id,
		digest:   digest,
		said:     said,
		accepted: promise{decided: make(chan struct{})},
		ended:    promise{decided: make(chan struct{})},
		action:   action, due: never,
	}
}

func (j *job) latest() *version { return &j.versions[len(j.versions)-1] }

// isCancelled reports whether a cancelling transaction may be out. Other versions are not sent any more then.
func (j *job) isCancelled() bool { return len(j.versions) > 0 && j.latest().cancels }

// has reports whether a transaction is one of the job's versions; with cancels, whether it is one that cancels the job.
func (j *job) has(hash types.TxID, cancels bool) bool {
	return slices.ContainsFunc(j.versions, func(v version) bool { return v.hash == hash && (v.cancels || !cancels) })
}

// own reports whether the ID was assigned by the sender.
func (j *job) own() bool { return strings.HasPrefix(j.id, ownIDs) }

// release removes the job from its nonce. No node may have its bytes.
func (j *job) release() {
	j.versions, j.out, j.pooled, j.due, j.since, j.undecided = nil, false, false, never, 0, false
}

// expired reports whether no block can include the job any more, given the timestamp of a block in the chain.
func (j *job) expired(head uint64) bool { return j.until != nil && *j.until < head }

func (j *job) isFiller() bool { return strings.HasPrefix(j.id, fillerIDs) }

// entry returns the journal entry of a version.
func (j *job) entry(number int) Entry {
	v := &j.versions[number]
	e := Entry{Type: Version, ID: j.id, Nonce: strconv.FormatUint(j.nonce, 10), Raw: v.raw, Hash: v.hash}
	switch {
	case number == 0:
		e.Type, e.Digest = Signed, j.digest
	case v.cancels:
		e.Type = Cancel
	}
	return e
}

// entries returns the journal entries of an open job.
func (j *job) entries() []Entry {
	list := make([]Entry, len(j.versions))
	for i := range list {
		list[i] = j.entry(i)
	}
	return list
}

// accept, end and reject resolve the promises that callers wait for.
func (j *job) accept(hash types.TxID) {
	if !j.accepted.isDecided() {
		j.accepted.hash = hash
		close(j.accepted.decided)
	}
}

func (j *job) end(receipt api.Receipt) {
	j.accept(receipt.TransactionHash)
	j.ended.receipt = receipt
	j.finish()
}

func (j *job) finish() {
	close(j.ended.decided)
	if j.then != nil {
		j.then()
	}
}

func (j *job) reject(err error) {
	j.ended.err = err
	if !j.accepted.isDecided() {
		j.accepted.err = err
		close(j.accepted.decided)
	}
	j.finish()
}

// done is the record of a job that is in a block.
type done struct {
	digest types.Digest
	hash   types.TxID
	height types.Height
	status uint8
}

func (d done) entry(id string) Entry {
	return Entry{
		Type:   Done,
		ID:     id,
		Digest: d.digest,
		Hash:   d.hash,
		Height: d.height,
		Status: new(d.status),
	}
}

// digestOf returns a digest that tells whether two jobs with one ID are the same: the SHA-256 of the action, encoded as
// a step of a batch is.
func digestOf(a client.Action) types.Digest {
	encoded := binary.LittleEndian.AppendUint64(a.Target[:], uint64(a.Value))
	return sha256.Sum256(append(encoded, types.EncodePayload(a.Payload)...))
}

func sweepDigest(to types.Account) types.Digest {
	return sha256.Sum256(append([]byte("sweep"), to[:]...))
}

// ErrBadJournal is returned for a journal that no sender can have written.
var ErrBadJournal = errors.New("the journal is damaged")

// restore returns the open jobs of a journal, in the order in which they began, and the finished ones.
func restore(entries []Entry) (open []*job, finished map[string]done, err error) {
	jobs, finished := make(map[string]*job), make(map[string]done)
	for _, e := range entries {
		switch e.Type {
		case Signed, Version, Cancel:
			if err := restoreVersion(jobs, e); err != nil {
				return nil, nil, err
			}
			if e.Type == Signed {
				open = append(open, jobs[e.ID])
			}
		case Refused:
			delete(jobs, e.ID)
		case Done:
			if e.Status == nil {
				return nil, nil, fmt.Errorf("%w: %q is done without a status", ErrBadJournal, e.ID)
			}
			delete(jobs, e.ID)
			if !strings.HasPrefix(e.ID, ownIDs) {
				finished[e.ID] = done{e.Digest, e.Hash, e.Height, *e.Status}
			}
		default:
			return nil, nil, fmt.Errorf("%w: an entry of type %q", ErrBadJournal, e.Type)
		}
	}
	current := open[:0]
	for _, j := range open {
		if jobs[j.id] == j { // otherwise it ended or began again
			current = append(current, j)
		}
	}
	return current, finished, nil
}

func restoreVersion(jobs map[string]*job, e Entry) error {
	tx, err := types.DecodeTx(e.Raw)
	if err != nil {
		return fmt.Errorf("%w: the transaction of %q: %w", ErrBadJournal, e.ID, err)
	}
	v := version{tx: tx.Signed().Transaction, raw: e.Raw, hash: tx.ID(), cancels: e.Type == Cancel}
	if e.Type == Signed {
		j := newJob(e.ID, e.Digest, client.ActionOf(v.tx), Job{})
		if _, is := v.tx.Payload.(types.Transfer); is && e.Digest == sweepDigest(v.tx.Target) {
			j.sweep = &v.tx.Target
		}
		j.nonce, j.until = v.tx.Nonce, v.tx.ValidUntil
		j.out = true // the journal does not record responses
		jobs[e.ID] = j
	}
	j := jobs[e.ID]
	switch {
	case j == nil:
		return fmt.Errorf("%w: it has a version of %q, which was not signed", ErrBadJournal, e.ID)
	case j.nonce != v.tx.Nonce || v.hash != e.Hash:
		return fmt.Errorf("%w: the transaction of %q is not the one that it names", ErrBadJournal, e.ID)
	}
	j.versions = append(j.versions, v)
	return nil
}
