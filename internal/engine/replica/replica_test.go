package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/types"
)

func TestFollows(t *testing.T) {
	for _, pushes := range []bool{false, true} {
		t.Run(fmt.Sprint("pushed to ", pushes), func(t *testing.T) {
			in(t, 300, 1, func(f *fixture) {
				f.sources[0].set(func(s *faultySource) { s.pushes = pushes })
				f.start()
				synctest.Wait()
				if s := f.Status(); s.Primary != 300 || s.Local == 0 {
					t.Errorf("at first %+v", s)
				}
				f.pass(time.Second)
				f.synced()
				if n := f.longest.Swap(0); n < 2 {
					t.Errorf("at most %d blocks are imported together", n)
				}
				for range 20 {
					extend(t, f.primary, 1)
					if pushes {
						synctest.Wait()
					} else {
						f.pass(longestPoll * 3 / 2)
					}
					f.synced()
				}
				if n := f.longest.Load(); n != 1 {
					t.Errorf("%d blocks that came one by one are imported together, want 1", n)
				}
				before := f.sources[0].asked()
				f.pass(time.Minute)
				asked := f.sources[0].asked() - before
				if pushes && asked > 120 || asked > 200 {
					t.Errorf("asked %d times in a minute without blocks", asked)
				}
				f.synced()
			})
		})
	}
}

func TestContinuesAfterARestart(t *testing.T) {
	in(t, 300, 1, func(f *fixture) {
		f.sources[0].set(func(s *faultySource) {
			s.probe = func(p Probe) Probe { p.Head, p.Primary = min(p.Head, 100), min(p.Head, 100); return p }
			s.blocks = func(from, to types.Height, answer [][]byte) ([][]byte, error) {
				return answer[:min(len(answer), int(101-min(from, 101)))], nil
			}
		})
		f.start()
		f.pass(5 * time.Second)
		if f.height() != 100 {
			t.Fatalf("at %d, want 100", f.height())
		}
		f.sources[0].set(func(s *faultySource) { s.probe, s.blocks = nil, nil })
		f.start()
		f.pass(5 * time.Second)
		f.synced()
	})
}

var errDropped = errors.New("the connection broke")

// chaos has the faults of a source behind a faulty network, or of a faulty peer.
func chaos(seed uint64) (fault func() error, blocks func(from, to types.Height, answer [][]byte) ([][]byte, error)) {
	random := rand.New(rand.NewPCG(seed, 1))
	lock := make(chan struct{}, 1)
	roll := func(n int) int {
		lock <- struct{}{}
		defer func() { <-lock }()
		return random.IntN(n)
	}
	var earlier [][]byte
	fault = func() error {
		switch roll(6) {
		case 0:
			return errDropped
		case 1:
			<-time.After(time.Duration(roll(3000)) * time.Millisecond)
		}
		return nil
	}
	blocks = func(_, _ types.Height, answer [][]byte) ([][]byte, error) {
		if len(answer) == 0 {
			return answer, nil
		}
		i := roll(len(answer))
		switch roll(9) {
		case 0: // fewer blocks
			answer = answer[:i]
		case 1: // a truncated block
			answer[i] = answer[i][:roll(len(answer[i]))]
		case 2: // a flipped bit
			answer[i] = slices.Clone(answer[i])
			answer[i][roll(len(answer[i]))] ^= 1 << roll(8)
		case 3: // reordered
			j := roll(len(answer))
			answer[i], answer[j] = answer[j], answer[i]
		case 4: // an earlier answer again
			lock <- struct{}{}
			answer, earlier = earlier, answer
			<-lock
		case 5: // some blocks twice
			answer = append(answer[:i:i], answer[max(0, i-1):]...)
		}
		return answer, nil
	}
	return fault, blocks
}

// TestChaos has an upstream with all faults at once. Only the primary's blocks are ever imported, the replica never
// halts, and it has all of them once the faults have ended.
func TestChaos(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			in(t, 150, 2, func(f *fixture) {
				for i, s := range f.sources {
					fault, blocks := chaos(seed<<8 + uint64(i))
					s.set(func(s *faultySource) { s.fault, s.blocks, s.pushes = fault, blocks, seed%2 == 0 })
				}
				f.start()
				for range 30 {
					extend(t, f.primary, 1)
					f.pass(2 * time.Second)
				}
				for _, s := range f.sources {
					s.set(func(s *faultySource) { s.fault, s.blocks = nil, nil })
				}
				f.pass(LongestBackoff + 10*time.Second)
				f.synced()
				var faults uint64
				for i := range f.sources {
					for _, cause := range causes {
						faults += f.faults(i, cause)
					}
				}
				if faults == 0 {
					t.Error("nothing went wrong")
				}
			})
		})
	}
}

// TestLyingUpstream has a preferred upstream that tells one kind of lie at a time. The replica leaves it, marks it and
// follows the other.
func TestLyingUpstream(t *testing.T) {
	otherGenesis := testGenesis()
	otherGenesis.Time++
	changed := func(change func(*types.Block)) func(*testing.T, *faultySource) {
		return func(t *testing.T, s *faultySource) {
			s.blocks = at(5, func(b []byte) []byte {
				block, err := types.DecodeBlock(slices.Clone(b))
				check(t, err)
				change(&block)
				return block.Encode()
			})
		}
	}
	for name, c := range map[string]struct {
		lie   func(*testing.T, *faultySource)
		cause Cause
	}{
		"a state root that nobody signed": {changed(func(b *types.Block) { b.Header.StateRoot[0] ^= 1 }), Lied},
		"a transaction left out":          {changed(func(b *types.Block) { b.Transactions = nil }), Lied},
		"a transaction's signature":       {changed(func(b *types.Block) { b.Transactions[0].Witness = types.WitnessKey{} }), Lied},
		"a block of another signer": {changed(func(b *types.Block) {
			b.Header.Producer = alice.PublicKey()
			hash := b.Header.Hash()
			b.Seal.Signature, _ = alice.Sign(hash[:], [32]byte{})
		}), Lied},
		"another block than asked": {func(_ *testing.T, s *faultySource) {
			s.blocks = func(_, _ types.Height, answer [][]byte) ([][]byte, error) {
				slices.Reverse(answer)
				return answer, nil
			}
		}, Lied},
		"more blocks than asked": {func(_ *testing.T, s *faultySource) {
			s.blocks = func(_, _ types.Height, answer [][]byte) ([][]byte, error) { return append(answer, answer...), nil }
		}, Lied},
		"what is no block": {func(_ *testing.T, s *faultySource) {
			s.blocks = at(7, func([]byte) []byte { return []byte("block 7") })
		}, Lied},
		"blocks that it does not give": {func(_ *testing.T, s *faultySource) {
			s.blocks = func(types.Height, types.Height, [][]byte) ([][]byte, error) { return nil, nil }
		}, Stalled},
		"no answer": {func(_ *testing.T, s *faultySource) {
			s.blocks = func(types.Height, types.Height, [][]byte) ([][]byte, error) { return nil, errDropped }
		}, Unreachable},
		"another chain": {func(t *testing.T, s *faultySource) { s.chain = openChain(t, otherGenesis) }, OtherChain},
		"a header that the producer did not sign, at our head": {func(_ *testing.T, s *faultySource) {
			s.header = func(_ types.Height, h *types.SignedHeader) *types.SignedHeader {
				forged := types.SignedHeader{Header: types.Header{Height: h.Header.Height}}
				return &forged
			}
		}, Lied},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, 30, 2, func(f *fixture) {
				f.sources[0].set(func(s *faultySource) { c.lie(f.t, s) })
				f.start()
				f.pass(20 * time.Second)
				f.synced()
				s := f.Status()
				if f.faults(0, c.cause) == 0 || !s.Upstreams[1].InUse || s.Upstreams[0].InUse {
					t.Errorf("got %+v", s.Upstreams)
				}
				if f.Halt() != nil {
					t.Errorf("halted: got %+v", f.Halt())
				}
			})
		})
	}
}

// TestUpstreamBehindIsLeft has a preferred upstream that stalls while another one continues.
func TestUpstreamBehindIsLeft(t *testing.T) {
	in(t, 30, 2, func(f *fixture) {
		f.start()
		f.pass(5 * time.Second)
		f.synced()
		old := openChain(f.t, testGenesis())
		extend(t, old, 30)
		f.sources[0].set(func(s *faultySource) { s.chain = old })
		extend(t, f.primary, muchBehind)
		f.pass(10 * time.Second)
		if s := f.Status(); f.height() != 30 || s.Synced || s.Behind() != muchBehind || !s.Upstreams[0].InUse {
			t.Errorf("a little behind: got %+v", s)
		}
		extend(t, f.primary, 1)
		f.pass(10 * time.Second)
		f.synced()
		if f.faults(0, Behind) != 1 || !f.Status().Upstreams[1].InUse {
			t.Errorf("got %+v", f.Status().Upstreams)
		}
	})
}

// TestLyingProducer has a producer that signs a block which breaks a rule. The replica halts with the evidence, and
// stays halted after a restart. It continues once the file is moved away and the chain is valid.
func TestLyingProducer(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*types.Block)
		text    string
		derived bool
	}{
		"state root":         {func(b *types.Block) { b.Header.StateRoot[0] ^= 1 }, "state_root", true},
		"receipts root":      {func(b *types.Block) { b.Header.ReceiptsRoot[0] ^= 1 }, "receipts_root", true},
		"gas used":           {func(b *types.Block) { b.Header.GasUsed++ }, "gas_used", true},
		"time":               {func(b *types.Block) { b.Header.Timestamp = 1 }, "timestamp", false},
		"transaction":        {func(b *types.Block) { b.Transactions[0] = payment(77, 1) }, "transaction 0", false},
		"a forged signature": {func(b *types.Block) { b.Transactions[0].Witness = types.WitnessKey{} }, "transaction 0", false},
		"the same block once more, with a transaction twice": {
			func(b *types.Block) { b.Transactions = append(b.Transactions, b.Transactions[0]) }, "transaction 1", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, 30, 2, func(f *fixture) {
				for _, s := range f.sources {
					s.set(func(s *faultySource) {
						s.blocks = at(20, func(b []byte) []byte { return resigned(f.t, b, c.change) })
					})
				}
				f.start()
				f.pass(5 * time.Second)
				for range 2 {
					h := f.Halt()
					if h == nil || h.Reason != Diverged || h.Height != 20 || !strings.Contains(h.Message, c.text) ||
						len(h.Headers) != 1 || len(h.Block) == 0 {
						t.Fatalf("halted with %+v", h)
					}
					if (h.Derived != nil) != c.derived || h.Derived != nil && h.Derived.Parent != h.Headers[0].Parent {
						t.Errorf("derived %+v", h.Derived)
					}
					if s := f.Status(); s.State != StateHalted || s.Synced || s.Reason != h.Message || f.height() != 19 {
						t.Errorf("got %+v", s)
					}
					f.start() // again
					f.pass(5 * time.Second)
				}
				check(t, f.stop())
				check(t, os.Rename(f.haltFile, f.haltFile+".looked-at"))
				for _, s := range f.sources {
					s.set(func(s *faultySource) { s.blocks = nil })
				}
				f.start()
				f.pass(5 * time.Second)
				f.synced()
			})
		})
	}
}

// TestTwoBlocksOfOneHeight has a producer that signs two blocks of one height.
func TestTwoBlocksOfOneHeight(t *testing.T) {
	for name, c := range map[string]struct{ since, now types.Height }{
		"at the head":                {30, 30},
		"at the head, and goes on":   {30, 35},
		"below the head":             {7, 30},
		"below the head, and behind": {20, 25},
		"from the first block on":    {1, 40},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, 30, 2, func(f *fixture) {
				f.start()
				f.pass(5 * time.Second)
				f.synced()
				fork := openChain(f.t, testGenesis())
				extend(t, fork, int(c.since)-1)
				head := fork.Tip().Header.Header
				_, err := fork.Build(emptyBatch(head.Timestamp+5), sign)
				check(t, err)
				for fork.Tip().Header.Header.Height < c.now {
					_, err := fork.Build(emptyBatch(fork.Tip().Header.Header.Timestamp+1), sign)
					check(t, err)
				}
				f.sources[1].set(func(s *faultySource) { s.chain = fork })
				// An upstream that is behind is asked for its block at our head, which it lacks.
				if c.now < 30 {
					f.sources[0].set(func(s *faultySource) { s.chain = fork })
					f.pass(10 * time.Second)
					if f.Halt() != nil || f.height() != 30 {
						t.Fatalf("got %+v", f.Halt())
					}
					for fork.Tip().Header.Header.Height <= 30 {
						_, err := fork.Build(emptyBatch(fork.Tip().Header.Header.Timestamp+1), sign)
						check(t, err)
					}
				}
				f.pass(10 * time.Second)
				h := f.Halt()
				if h == nil || h.Reason != Equivocation || h.Height != c.since || len(h.Headers) != 2 {
					t.Fatalf("halted with %+v", h)
				}
				if h.Headers[0].Parent != h.Headers[1].Parent || h.Headers[0].Hash == h.Headers[1].Hash {
					t.Errorf("headers %+v", h.Headers)
				}
				for _, signed := range h.Headers {
					header, err := types.DecodeSignedHeader(signed.Raw)
					if err != nil || !header.VerifySeal() || header.Header.Producer != producerKey.PublicKey() ||
						header.Header.Height != c.since {
						t.Errorf("the evidence is not the producer's: got %+v, error %v", header, err)
					}
				}
				if f.height() != 30 {
					t.Errorf("at %d, want 30", f.height())
				}
				kept, err := ReadHalt(f.haltFile)
				if err != nil || kept == nil || kept.Reason != Equivocation || len(kept.Headers) != 2 {
					t.Errorf("the file has %+v, error %v", kept, err)
				}
			})
		})
	}
}

// TestHoldsABlockFromTheFuture: the replica imports a block only when its time is near.
func TestHoldsABlockFromTheFuture(t *testing.T) {
	in(t, 10, 1, func(f *fixture) {
		ahead := uint64(time.Now().UnixMilli()) + 60_000
		_, err := f.primary.Build(emptyBatch(ahead), sign)
		check(t, err)
		f.start()
		f.pass(40 * time.Second)
		if s := f.Status(); s.State != StateHolding || !strings.Contains(s.Reason, "future") || f.height() != 10 ||
			s.Synced || s.Behind() != 1 {
			t.Errorf("got %+v", s)
		}
		f.pass(10 * time.Second)
		f.synced()
		if f.faults(0, Lied)+f.faults(0, Stalled)+f.faults(0, Unreachable) != 0 {
			t.Errorf("the upstream is blamed: got %+v", f.Status().Upstreams)
		}
	})
}

// TestTheTimeOfDayJumps moves the replica's time of day forward, back and before 1970 while the primary makes blocks.
// If blocks seem to be from the future, the replica says so and waits, and continues at once when the clock is right
// again.
func TestTheTimeOfDayJumps(t *testing.T) {
	in(t, 10, 1, func(f *fixture) {
		build := func() {
			_, err := f.primary.Build(emptyBatch(uint64(time.Now().UnixMilli())), sign)
			check(t, err)
		}
		f.start()
		build()
		f.pass(10 * time.Second)
		f.synced()
		for _, jump := range []time.Duration{
			time.Hour, -time.Hour, -100 * 365 * 24 * time.Hour, 10 * time.Second, -10 * time.Second,
		} {
			f.jumped.Store(int64(jump))
			before := f.height()
			for range 5 {
				build()
				f.pass(10 * time.Second)
			}
			if jump >= -maxAhead {
				f.synced()
			} else if s := f.Status(); s.State != StateHolding || !strings.Contains(s.Reason, "future") ||
				f.height() != before || s.Synced || s.Behind() != 5 {
				t.Errorf("after a jump of %v: at %d, %+v", jump, f.height(), s)
			}
			f.jumped.Store(0)
			f.pass(5 * time.Second)
			f.synced()
		}
		if f.faults(0, Lied)+f.faults(0, Stalled)+f.faults(0, Unreachable) != 0 {
			t.Errorf("the upstream is blamed: got %+v", f.Status().Upstreams)
		}
	})
}

func TestStatusWithoutUpstreams(t *testing.T) {
	in(t, 10, 1, func(f *fixture) {
		f.start()
		f.pass(5 * time.Second)
		f.synced()
		f.sources[0].set(func(s *faultySource) { s.fault = func() error { return errDropped } })
		f.pass(contactTime + probeInterval*2)
		if s := f.Status(); s.Synced || s.State != StateSyncing || s.Reason == "" || s.ETAKnown || s.Silence < contactTime {
			t.Errorf("got %+v", s)
		}
		extend(t, f.primary, 5)
		f.sources[0].set(func(s *faultySource) { s.fault = nil })
		f.pass(LongestBackoff + 5*time.Second)
		f.synced()
	})
}

// TestProgress checks rate and ETA while the upstream gives the given number of blocks a second.
func TestProgress(t *testing.T) {
	in(t, 300, 1, func(f *fixture) {
		f.sources[0].set(func(s *faultySource) {
			s.blocks = func(_, _ types.Height, answer [][]byte) ([][]byte, error) {
				<-time.After(time.Second)
				return answer[:min(len(answer), 5)], nil
			}
		})
		f.start()
		f.pass(10 * time.Second) // four ranges at a time, of which the first is imported
		s := f.Status()
		if s.State != StateSyncing || s.Synced || s.Primary != 300 || s.Rate < 4 || s.Rate > 6 {
			t.Errorf("got %+v", s)
		}
		if want := float64(s.Behind()) / s.Rate; !s.ETAKnown || s.ETA.Seconds() < want-1 || s.ETA.Seconds() > want+1 {
			t.Errorf("%s left with %d blocks at %.1f a second", s.ETA, s.Behind(), s.Rate)
		}
	})
}

// TestBoastfulUpstream has an upstream that falsely claims to have much newer blocks. The other is followed, and the
// claim does not make the replica appear to be behind.
func TestBoastfulUpstream(t *testing.T) {
	in(t, 30, 2, func(f *fixture) {
		f.sources[0].set(func(s *faultySource) {
			s.probe = func(p Probe) Probe { p.Head, p.Primary = 1e9, 1e9; return p }
		})
		f.start()
		f.pass(20 * time.Second)
		for range 20 {
			extend(t, f.primary, 1)
			f.pass(2 * time.Second)
			f.synced()
		}
		if f.faults(0, Stalled) == 0 || f.faults(1, Behind) > 1 {
			t.Errorf("got %+v", f.Status().Upstreams)
		}
	})
}

// TestForkIsFoundAtTheStart has a replica with one upstream that is on another branch when it starts, and one that is
// not.
func TestForkIsFoundAtTheStart(t *testing.T) {
	in(t, 30, 2, func(f *fixture) {
		f.start()
		f.pass(5 * time.Second)
		check(t, f.stop())
		fork := openChain(f.t, testGenesis())
		for range 31 {
			_, err := fork.Build(emptyBatch(fork.Tip().Header.Header.Timestamp+1), sign)
			check(t, err)
		}
		f.sources[1].set(func(s *faultySource) { s.chain = fork })
		extend(t, f.primary, 5)
		f.start()
		f.pass(20 * time.Second)
		if h := f.Halt(); h == nil || h.Reason != Equivocation || h.Height != 1 || f.height() != 30 {
			t.Errorf("at %d, halted with %+v", f.height(), h)
		}
	})
}

// TestForkOfAPrunedChain: a replica that keeps few blocks compares them with another branch. If the branch forked
// before these blocks, it proves nothing against the producer; otherwise it does.
func TestForkOfAPrunedChain(t *testing.T) {
	for name, c := range map[string]struct {
		since types.Height
		halts bool
	}{"before what is kept": {5, false}, "at the first that is kept": {20, true}} {
		t.Run(name, func(t *testing.T) {
			in(t, 30, 2, func(f *fixture) {
				f.chain = openChainThat(f.t, testGenesis(), 10)
				f.start()
				f.pass(5 * time.Second)
				f.synced()
				check(t, f.chain.Store().Prune(f.t.Context()))
				fork := openChain(f.t, testGenesis())
				extend(t, fork, int(c.since)-1)
				for fork.Tip().Header.Header.Height < 40 {
					_, err := fork.Build(emptyBatch(fork.Tip().Header.Header.Timestamp+5), sign)
					check(t, err)
				}
				f.sources[1].set(func(s *faultySource) { s.chain = fork })
				f.pass(20 * time.Second)
				if h := f.Halt(); (h != nil) != c.halts || c.halts && (h.Reason != Equivocation || h.Height != c.since) {
					t.Errorf("halted with %+v", h)
				}
				if !c.halts && f.faults(1, Lied) == 0 {
					t.Errorf("faults %+v", f.Status().Upstreams)
				}
				if !c.halts {
					extend(t, f.primary, 1)
					f.pass(10 * time.Second)
					f.synced()
				}
			})
		})
	}
}

// TestStopsWhileNoUpstreamAnswers: the replica ends in bounded time whatever the upstreams do.
func TestStopsWhileNoUpstreamAnswers(t *testing.T) {
	in(t, 5, 2, func(f *fixture) {
		for _, s := range f.sources {
			s.set(func(s *faultySource) { s.fault = func() error { <-time.After(time.Second); return errDropped } })
		}
		f.start()
		f.pass(90 * time.Second)
		begin := time.Now()
		check(t, f.stop())
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("it took %s to stop", took)
		}
	})
}

// The log has one line for each time that an upstream is back.
func TestRecoveryIsLoggedOnce(t *testing.T) {
	in(t, 3, 2, func(f *fixture) {
		f.start()
		f.pass(10 * time.Second)
		for times := 1; times <= 2; times++ {
			f.sources[0].set(func(s *faultySource) { s.fault = func() error { return errDropped } })
			f.pass(time.Minute)
			f.sources[0].set(func(s *faultySource) { s.fault = nil })
			f.pass(time.Minute)
			if said := f.log.count(`msg="an upstream is reachable again" upstream="source 0"`); said != times {
				t.Errorf("said %d times after it was away %d times", said, times)
			}
		}
		if said := f.log.count(`answers again" upstream="source 1"`); said != 0 {
			t.Errorf("of the other it is said %d times, want 0", said)
		}
	})
}
