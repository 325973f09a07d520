package sender_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/sender"
	"github.com/cairn-chain/cairn/types"
)

// calmNode is a fake node on which only the test causes faults.
func calmNode(t *testing.T) (*fakeNode, func(sender.Options) *sender.Sender) {
	t.Helper()
	signer := testSigner(t, 3)
	node := newFakeNode(t, signer.Account(), 1)
	node.calm = true
	server := httptest.NewServer(node)
	c, err := client.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		server.Close()
	})
	return node, func(options sender.Options) *sender.Sender {
		if options.Clock == nil {
			options.Clock = node
		}
		s, err := sender.Open(t.Context(), c, signer, options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil && !errors.Is(err, errCrash) {
				t.Error(err)
			}
		})
		return s
	}
}

func send(t *testing.T, s *sender.Sender, amount types.Amount, id string) *sender.Sent {
	t.Helper()
	sent, err := s.Send(t.Context(), client.Transfer(types.Account{5}, amount), sender.Job{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

func receipt(t *testing.T, sent *sender.Sent) api.Receipt {
	t.Helper()
	r, err := sent.Receipt(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnIDIsForOneJob(t *testing.T) {
	_, open := calmNode(t)
	s := open(sender.Options{})
	first := receipt(t, send(t, s, 1, "7"))
	if again := receipt(t, send(t, s, 1, "7")); again.TransactionHash != first.TransactionHash {
		t.Error("the same id was paid twice")
	}
	for id, want := range map[string]error{
		"7": sender.ErrConflict, "cairn:x": sender.ErrBadID, "\xff": sender.ErrBadID,
		strings.Repeat("x", 257): sender.ErrBadID,
	} {
		_, err := s.Send(t.Context(), client.Transfer(types.Account{5}, 2), sender.Job{ID: id})
		if !errors.Is(err, want) {
			t.Errorf("id %q: %v, want %v", id, err, want)
		}
	}
	if a, b := send(t, s, 1, ""), send(t, s, 1, ""); receipt(t, a).TransactionHash == receipt(t, b).TransactionHash {
		t.Error("jobs without an id are one")
	}
	if s.Forget(first.BlockHeight) != 0 || s.Forget(first.BlockHeight+1) != 1 {
		t.Error("what is forgotten is not what was done before a height")
	}
	if again := receipt(t, send(t, s, 1, "7")); again.TransactionHash == first.TransactionHash {
		t.Error("the id was not forgotten")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Send(t.Context(), client.Transfer(types.Account{5}, 1), sender.Job{})
	if !errors.Is(err, sender.ErrClosed) {
		t.Errorf("send after close: error %v, want %v", err, sender.ErrClosed)
	}
}

// A transaction sent before the process died stays at its nonce, even if the node refuses it later.
func TestWhatMayBeOutIsNotRefused(t *testing.T) {
	node, open := calmNode(t)
	node.still = true
	journal := &sender.Memory{}
	s := open(sender.Options{Journal: journal})
	hash, err := send(t, s, 5, "5").Accepted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	node.mu.Lock()
	clear(node.pool)
	node.refuse = 3
	node.still = false
	node.mu.Unlock()
	if got := receipt(t, send(t, open(sender.Options{Journal: journal}), 5, "5")); got.TransactionHash != hash {
		t.Errorf("paid by %s, was sent as %s", got.TransactionHash, hash)
	}
}

// thirdTime is a clock that calls a function when it is read for the third time.
type thirdTime struct {
	*fakeNode
	asked atomic.Int32
	then  func()
}

func (c *thirdTime) Now() time.Time {
	if c.asked.Add(1) == 3 {
		c.then()
	}
	return c.fakeNode.Now()
}

// A first job that arrives while the sender begins its first step still gets the account's next nonce.
func TestFirstJobWaitsForTheNonce(t *testing.T) {
	node, open := calmNode(t)
	before := open(sender.Options{})
	receipt(t, send(t, before, 1, ""))
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	opened, sent := make(chan *sender.Sender, 1), make(chan *sender.Sent, 1)
	// The clock is read when the sender is made, and at the beginning of its first step.
	clock := &thirdTime{fakeNode: node, then: func() {
		job, err := (<-opened).Send(context.Background(), client.Transfer(types.Account{5}, 5), sender.Job{ID: "5"})
		if err != nil {
			t.Error(err)
		}
		sent <- job
	}}
	journal := &sender.Memory{}
	s := open(sender.Options{Journal: journal, Clock: clock})
	opened <- s
	receipt(t, <-sent)
	for _, e := range journal.Entries() {
		if e.Type == sender.Refused || e.Type == sender.Signed && e.Nonce != "1" {
			t.Errorf("the journal has %s at nonce %s", e.Type, e.Nonce)
		}
	}
}

// diesAt is a journal that fails before or after it writes an entry of a type.
type diesAt struct {
	sender.Memory
	entry   sender.EntryType
	written bool
}

func (d *diesAt) Append(entries []sender.Entry) error {
	dies := slices.ContainsFunc(entries, func(e sender.Entry) bool { return e.Type == d.entry })
	if dies && !d.written {
		return errCrash
	}
	if err := d.Memory.Append(entries); err != nil || !dies {
		return err
	}
	return errCrash
}

// dieCancelling accepts a job at a node that makes no blocks, and dies while cancelling it: the node's pool is lost.
func dieCancelling(t *testing.T, written bool) (node *fakeNode, revive func() *sender.Sender) {
	node, open := calmNode(t)
	node.still = true
	journal := &diesAt{entry: sender.Cancel, written: written}
	sent := send(t, open(sender.Options{Journal: journal}), 5, "5")
	if _, err := sent.Accepted(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := sent.Cancel(t.Context()); !errors.Is(err, errCrash) {
		t.Fatalf("cancel: error %v, want %v", err, errCrash)
	}
	node.mu.Lock()
	defer node.mu.Unlock()
	clear(node.pool)
	node.still = false
	return node, func() *sender.Sender { return open(sender.Options{Journal: &journal.Memory}) }
}

// A cancellation that began before a crash is completed after it, and the job is never sent again.
func TestCancellingGoesOnAfterACrash(t *testing.T) {
	node, revive := dieCancelling(t, true)
	s := revive()
	again := send(t, s, 5, "5")
	if _, err := again.Receipt(t.Context()); !errors.Is(err, sender.ErrCancelled) {
		t.Errorf("receipt: error %v, want %v", err, sender.ErrCancelled)
	}
	if _, err := again.Accepted(t.Context()); !errors.Is(err, sender.ErrCancelled) {
		t.Errorf("accepted: error %v, want %v", err, sender.ErrCancelled)
	}
	if err := again.Cancel(t.Context()); err != nil {
		t.Errorf("cancelled twice: error %v", err)
	}
	if cancelled := node.blocks[0].tx.Signed(); len(node.blocks) != 1 || cancelled.Target != s.Account() ||
		cancelled.Value != 0 || cancelled.Payload.Kind() != types.KindTransfer {
		t.Errorf("in blocks: got %+v", node.blocks)
	}
	paid := receipt(t, send(t, s, 5, "5")) // the ID is free again
	if paid.TransactionHash != node.blocks[1].tx.ID() {
		t.Errorf("paid by %s", paid.TransactionHash)
	}
	var late *sender.TooLate
	err := send(t, s, 5, "5").Cancel(t.Context())
	if !errors.As(err, &late) || late.Receipt.TransactionHash != paid.TransactionHash {
		t.Errorf("cancel of what was done: error %v", err)
	}
}

// A cancellation that did not begin before a crash is forgotten.
func TestACancelThatWasNotWrittenIsForgotten(t *testing.T) {
	node, revive := dieCancelling(t, false)
	paid := receipt(t, send(t, revive(), 5, "5"))
	if len(node.blocks) != 1 || paid.TransactionHash != node.blocks[0].tx.ID() {
		t.Errorf("paid by %s, in blocks: %+v", paid.TransactionHash, node.blocks)
	}
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	node, open := calmNode(t)
	node.still = true
	s := open(sender.Options{})
	sent := send(t, s, 5, "5")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sent.Receipt(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("receipt: error %v, want %v", err, context.Canceled)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sent.Receipt(t.Context()); !errors.Is(err, sender.ErrClosed) {
		t.Errorf("receipt of a closed sender: error %v, want %v", err, sender.ErrClosed)
	}
	if _, err := sent.Accepted(t.Context()); err != nil && !errors.Is(err, sender.ErrClosed) {
		t.Errorf("hash of a closed sender: error %v", err)
	}
}

// A journal does not grow forever: jobs without an ID are forgotten, and so are obsolete entries of the others.
func TestTheJournalIsMadeAnew(t *testing.T) {
	node, open := calmNode(t)
	node.full = true
	journal := &sender.Memory{}
	s := open(sender.Options{Journal: journal})
	for round := range 9 {
		var all []*sender.Sent
		for i := range 512 {
			id := ""
			if i < 10 {
				id = fmt.Sprint(round, " ", i)
			}
			all = append(all, send(t, s, 1, id))
		}
		for _, sent := range all {
			receipt(t, sent)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if entries := len(journal.Entries()); entries > 4096+2*90+1024 {
		t.Errorf("%d entries of 90 jobs that are to be remembered", entries)
	}
	s = open(sender.Options{Journal: journal})
	if s.Forget(1<<40) != 90 {
		t.Error("not all jobs with an id were remembered")
	}
}
