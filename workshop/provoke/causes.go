package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/storage/sealed"
	"github.com/cairn-chain/cairn/kit/loadgen"
	"github.com/cairn-chain/cairn/types"
)

// cause is a cause of an alert.
type cause struct {
	alert, text string
	args        []string // further arguments of `cairn node`
	runner      []string // a command that runs the node
	follows     bool     // the node is a replica of an unmonitored primary
	clustered   bool     // the node is a member of a cluster of three, and created it
	diskMiB     int      // size of a separate file system for the node; 0: none
	// prepare, if not nil, runs before the cause.
	prepare func(context.Context, *stage) error
	// bring brings the cause about, maintains it until ctx ends, and then removes it.
	bring func(context.Context, *stage) error
}

// causeless lists the alerts without a cause that can be brought about from outside.
var causeless = map[string]string{
	"CairnDiskDamage": "the database's tests damage a proof on the disk",
	"CairnOverrun":    "prices make it impossible; the sequencer's tests have engines that take any time",
}

// quarantine starts the node with a quarantined code.
func quarantine(ctx context.Context, st *stage) error {
	if err := st.stop(os.Kill); err != nil {
		return err
	}
	none := map[string]any{}
	book, err := sealed.JSON(map[string]any{
		"quarantined": map[string]any{fmt.Sprintf("0x%064d", 1): map[string]any{
			"function": "f", "error": "provoked", "height": 1, "time": "2026-01-01T00:00:00Z",
		}},
		"senders": none, "codes": none,
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(st.data, "aside.json"), book, 0o600); err != nil {
		return err
	}
	if err := st.start(ctx); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		if err := st.stop(os.Kill); err != nil {
			return err
		}
		if err := st.cairn(ctx, "quarantine", "clear", "--data-dir", st.data); err != nil {
			return err
		}
		return st.start(ctx)
	})
}

// signedFiles returns the files that record what the node's key signed, and the paths of their older copies.
func (st *stage) signedFiles() (now, older []string, err error) {
	now, err = filepath.Glob(filepath.Join(st.data, "signed-*"))
	for _, name := range now {
		older = append(older, filepath.Join(st.dir, filepath.Base(name)))
	}
	return now, older, err
}

// keepRecord copies the record of what the node's key signed, before the node makes some more blocks. One block would
// not suffice: a head that directly follows a record may be one that a crash kept out of the record.
func keepRecord(ctx context.Context, st *stage) error {
	if err := st.reach(ctx, 2); err != nil {
		return err
	}
	if err := st.stop(os.Interrupt); err != nil {
		return err
	}
	now, older, err := st.signedFiles()
	for i := range now {
		err = errors.Join(err, execute(ctx, "cp", "-p", now[i], older[i]))
	}
	return errors.Join(err, st.start(ctx), st.reach(ctx, 6))
}

// forgetBlocks starts the node with the older record, as if another node had made the later blocks.
func forgetBlocks(ctx context.Context, st *stage) error {
	now, older, err := st.signedFiles()
	if err := errors.Join(err, st.stop(os.Interrupt)); err != nil {
		return err
	}
	for i := range now {
		if err := os.Rename(older[i], now[i]); err != nil {
			return err
		}
	}
	if err := st.start(ctx); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		if err := st.stop(os.Interrupt); err != nil {
			return err
		}
		key := filepath.Join(st.data, "protocol.key")
		if err := st.cairn(
			ctx, "promote", "--from-dead", "--alone", "--yes", "--data-dir", st.data, "--protocol-key", key,
		); err != nil {
			return err
		}
		return st.start(ctx)
	})
}

// healed limits the time for removing a cause.
const healed = time.Minute

// until waits until ctx ends, and then calls away to remove a cause.
func until(ctx context.Context, away func(context.Context) error) error {
	<-ctx.Done()
	healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healed)
	defer cancel()
	return away(healing)
}

// startWithout waits until ctx ends, and then restarts the node without the cause's arguments.
func startWithout(ctx context.Context, st *stage) error {
	return until(ctx, func(ctx context.Context) error { return errors.Join(st.stop(os.Interrupt), st.start(ctx)) })
}

var causes = []cause{
	{alert: "CairnDown", text: "kill -9", bring: func(ctx context.Context, st *stage) error {
		if err := st.stop(os.Kill); err != nil {
			return err
		}
		return until(ctx, func(ctx context.Context) error { return st.start(ctx) })
	}},
	{alert: "CairnNoBlock", text: "the disk hangs: fsfreeze", diskMiB: 400, bring: hang},
	{alert: "CairnNotProducing", text: "production handed over to another key, until the node has it", bring: handOver},
	{alert: "CairnHalted",
		text: "the primary of a replica restored from a copy that lacks blocks, until it has its own again", follows: true,
		prepare: backup, bring: restore},
	{alert: "CairnUpgradeUnknown", text: "a version announced that does not exist yet, until it is cancelled", bring: announce},
	{
		alert:   "CairnKeyUsedElsewhere",
		text:    "a start with an older record of what the key signed, until the directory is promoted",
		prepare: keepRecord,
		bring:   forgetBlocks,
	},
	{
		alert: "CairnSignerFails", text: "kill -9 of the signer", prepare: useSigner, bring: loseWorker,
	},
	{alert: "CairnSignerDown", text: "kill -9 of the signer, seen from its own job", prepare: useSigner, bring: loseWorker},
	{alert: "CairnSignerAlone", text: "kill -9 of the only node of a signer", prepare: useSigner, bring: loseNode},
	{alert: "CairnSignerRefuses", text: "a node with a signer on an older copy of its directory, until it has its own again",
		prepare: keepOlder, bring: runOlder},
	{alert: "CairnSignerStranger", text: "connections to the signer with a key that it does not know",
		prepare: useSigner, bring: askAsStranger},
	{alert: "CairnProverDown", text: "kill -9 of a prover on its own", prepare: useProver, bring: loseWorker},
	{alert: "CairnProverFails", text: "kill -9 of the node of a prover", prepare: useProver, bring: loseNode},
	{
		alert: "CairnClusterNoLeader", text: "kill -9 of the two other members", clustered: true, bring: loseMajority,
	},
	{alert: "CairnClusterThin", text: "another member hangs: SIGSTOP", clustered: true, bring: hangMember},
	{
		alert:     "CairnClusterElections",
		text:      "leadership handed on four times a second",
		clustered: true,
		bring:     changeLeaders,
	},
	{
		alert:     "CairnClusterStranger",
		text:      "a member that was removed is started again",
		clustered: true,
		bring:     runRemoved,
	},
	{
		alert:     "CairnClusterClock",
		text:      "a stand-in for another member, whose clock is 2 s ahead",
		clustered: true,
		bring:     setClock,
	},
	{
		alert:     "CairnClusterDiverged",
		text:      "another balance in the node's database, until it is put right",
		clustered: true,
		bring:     misremember,
	},
	{alert: "CairnEngineFault", text: "a start with a code in quarantine, until it is cleared", bring: quarantine},
	{alert: "CairnBehind", text: "the disk of a replica hangs: fsfreeze", follows: true, diskMiB: 400, bring: hang},
	{alert: "CairnNoUpstream", text: "kill -9 of the primary of a replica", follows: true, bring: noUpstream},
	{
		alert:   "CairnUpstreamLied",
		text:    "a proxy between primary and replica that changes a digit of every block",
		follows: true,
		bring:   lie,
	},
	{alert: "CairnOldKeySigns",
		text: "a copy of a primary's directory, started in its place after it handed over to another key", follows: true,
		prepare: retire, bring: comeBack},
	{alert: "CairnBlockLate", text: "an interval of 10 ms, shorter than a block takes; then a start without",
		args: []string{"--block-time", "10ms"},
		bring: func(ctx context.Context, st *stage) error {
			if err := st.transfers(ctx, 25, 100, 0); err != nil {
				return err
			}
			return startWithout(ctx, st) // a machine with other load is late without transfers, too
		}},
	{alert: "CairnWriteStalls",
		text:  "ten blocks a second for a database that makes a file of each and may have two unmerged",
		args:  []string{"--block-time", "100ms", "--table-mib", "1", "--max-unmerged", "2"},
		bring: func(ctx context.Context, st *stage) error { return st.transfers(ctx, 50, 100, 0) }},
	{alert: "CairnProofsBehind", text: "proofs made elsewhere, and nobody makes them; then a start without",
		args: []string{"--prove", "elsewhere"}, bring: startWithout},
	{alert: "CairnMempoolPressure", text: "a gas limit of 300 transfers a block, and 200,000 sent", bring: fillMempool},
	// The next block ends the node, so the blocks are far apart.
	{alert: "CairnJournalFailed", text: "the disk is full", diskMiB: 400, args: []string{"--block-time", "60s"}, bring: fullDisk},
	{alert: "CairnRPCInternalErrors", text: "one call for a block of which the disk has flipped a bit",
		args:    []string{"--cache-mib", "1"},
		prepare: writeHistory, bring: damageHistory},
	{alert: "CairnRPCErrors", text: "a client that calls a method that does not exist, 25 times a second",
		bring: func(ctx context.Context, st *stage) error {
			return st.badCalls(ctx, 40*time.Millisecond)
		}},
	{alert: "CairnRPCSlow", text: "transfers to --journal sync on a disk that hangs for half of each second",
		args: []string{"--journal", "sync"}, diskMiB: 400,
		bring: func(ctx context.Context, st *stage) error {
			return together(ctx, func(ctx context.Context) error { return st.transfers(ctx, 50, 1, 200) }, st.stutter)
		}},
	{alert: "CairnBadSignatures", text: "transactions with wrong signatures, 100 at a time",
		bring: func(ctx context.Context, st *stage) error {
			return st.badSignatures(ctx, 100)
		}},
	{alert: "CairnDiskNearlyFull", text: "a file that leaves 5 % of the disk", diskMiB: 400,
		bring: func(ctx context.Context, st *stage) error {
			return st.fill(ctx, 5)
		}},
	{alert: "CairnDiskFillsUp", text: "a file that grows by 512 KiB a second", diskMiB: 400, bring: grow},
	{alert: "CairnMemoryNearLimit", text: "GOMEMLIMIT=12MiB, transfers, and then a start without",
		runner: []string{"env", "GOMEMLIMIT=12MiB"},
		bring: func(ctx context.Context, st *stage) error {
			return errors.Join(st.transfers(ctx, 25, 100, 0), until(ctx, func(ctx context.Context) error {
				st.under = nil
				return errors.Join(st.stop(os.Interrupt), st.start(ctx))
			}))
		}},
	{alert: "CairnFilesNearLimit", text: "a limit of 128 files, set under the node, and 80 connections that say nothing",
		bring: func(ctx context.Context, st *stage) error { // a node does not start with so few
			if err := execute(ctx, "prlimit", "--pid", strconv.Itoa(st.Pid()), "--nofile=128:128"); err != nil {
				return err
			}
			return st.idle(ctx, 80)
		}},
	{alert: "CairnRefusedSurge", text: "a client behind a proxy that sends ten times its --rate-limit",
		args:  []string{"--trusted-proxy", "127.0.0.1", "--rate-limit", "20"},
		bring: func(ctx context.Context, st *stage) error { return st.badCalls(ctx, 2*time.Millisecond) }},
	{alert: "CairnSlowReadersDropped",
		text: "three WebSocket clients a second that subscribe and do not read, while transfers come in",
		bring: func(ctx context.Context, st *stage) error {
			return together(ctx, func(ctx context.Context) error { return st.transfers(ctx, 25, 100, 0) }, st.slowReaders)
		}},
}

// together runs parts until all have ended. It cancels the others when one fails.
func together(ctx context.Context, parts ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, len(parts))
	for _, part := range parts {
		go func() {
			err := part(ctx)
			if err != nil {
				cancel()
			}
			errs <- err
		}()
	}
	var all []error
	for range parts {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// hang freezes the disk until ctx ends.
func hang(ctx context.Context, st *stage) error {
	if err := st.freeze(ctx, true); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error { return st.freeze(ctx, false) })
}

// freeze blocks all writes to the node's disk, or unblocks them.
func (st *stage) freeze(ctx context.Context, on bool) error {
	how := "-u"
	if on {
		how = "-f"
	}
	return execute(ctx, "fsfreeze", how, filepath.Join(st.dir, "disk"))
}

// stutter freezes the disk for half of each second.
func (st *stage) stutter(ctx context.Context) error {
	frozen := false
	err := every(ctx, time.Second/2, func() (bool, error) {
		frozen = !frozen
		return false, st.freeze(context.WithoutCancel(ctx), frozen)
	})
	if frozen {
		err = errors.Join(err, st.freeze(context.WithoutCancel(ctx), false))
	}
	return asAsked(ctx, err)
}

// asAsked returns nil if ctx has ended, as that ends a cause, and otherwise err.
func asAsked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// nextKey creates a key for the next producer, and returns its file and account.
func (st *stage) nextKey() (file, account string, err error) {
	next, err := crypto.GenerateKey(rand.Reader)
	if err != nil {
		return "", "", err
	}
	file = filepath.Join(st.dir, "next.key")
	return file, types.Account(next.PublicKey()).String(), os.WriteFile(
		file, fmt.Appendf(nil, "%x\n", next.Bytes()), 0o600,
	)
}

func handOver(ctx context.Context, st *stage) error {
	file, next, err := st.nextKey()
	if err != nil {
		return err
	}
	if err := st.node.configure(ctx, st, "--producer", next); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		return errors.Join(st.stop(os.Interrupt), st.start(ctx, "--protocol-key", file))
	})
}

// configure changes the chain's parameters through the node, which is the stage's or its upstream.
func (n *node) configure(ctx context.Context, st *stage, args ...string) error {
	return st.cairn(ctx, append([]string{
		"configure", "--rpc-url", n.url(), "--admin-key", filepath.Join(n.data, "admin.key"),
	}, args...)...)
}

// announce announces a version of the protocol after the newest one.
func announce(ctx context.Context, st *stage) error {
	flags := []string{"--rpc-url", st.url(), "--admin-key", filepath.Join(st.data, "admin.key")}
	at := time.Now().Add(30 * 24 * time.Hour).UTC().Format(time.RFC3339)
	if err := st.cairn(ctx, slices.Concat([]string{"upgrade", "announce", "--version", "3", "--at", at}, flags)...); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		return st.cairn(ctx, slices.Concat([]string{"upgrade", "cancel"}, flags)...)
	})
}

// fillMempool fills the pool while blocks take almost nothing from it.
func fillMempool(ctx context.Context, st *stage) error {
	send, err := st.sign(ctx, crowd(500), loadgen.Options{Batch: 100})
	if err != nil {
		return asAsked(ctx, err)
	}
	if err := st.node.configure(ctx, st, "--gas-limit", "3000000"); err != nil {
		return err
	}
	if err := send(ctx); err != nil {
		return asAsked(ctx, err)
	}
	return until(ctx, func(ctx context.Context) error {
		return st.node.configure(ctx, st, "--gas-limit", "1000000000", "--max-fee", "1000000")
	})
}

// fullDisk sends transfers to a node that cannot write them to disk. If that stops the node, fullDisk restarts it once
// there is space.
func fullDisk(ctx context.Context, st *stage) error {
	send, err := st.sign(ctx, crowd(50), loadgen.Options{Batch: 1, Rate: 100})
	if err != nil {
		return asAsked(ctx, err)
	}
	return together(ctx, send, func(ctx context.Context) error { return st.fill(ctx, 0) })
}

// fill writes a file that leaves the given percentage of the disk free, and removes it at the end.
func (st *stage) fill(ctx context.Context, leave int) error {
	file := filepath.Join(st.dir, "disk", "file")
	err := write(ctx, file, 1<<20, int64(st.diskMiB)<<20*int64(100-leave)/100, 0)
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		return errors.Join(err, os.Remove(file))
	}
	return until(ctx, func(ctx context.Context) error {
		if err := os.Remove(file); err != nil {
			return err
		}
		select {
		case <-st.Ended():
			return st.start(ctx)
		default:
			return nil
		}
	})
}

// grow makes a file grow, and removes it at the end.
func grow(ctx context.Context, st *stage) error {
	file := filepath.Join(st.dir, "disk", "file")
	err := write(ctx, file, 1<<19, int64(st.diskMiB)<<20, time.Second)
	return errors.Join(asAsked(ctx, err), os.Remove(file))
}

// write appends a chunk to a new file in each interval, up to a size.
func write(ctx context.Context, name string, chunk int, size int64, interval time.Duration) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	zeros := make([]byte, chunk)
	if interval == 0 {
		for written := int64(0); written < size; written += int64(chunk) {
			if _, err := file.Write(zeros); err != nil {
				return err
			}
		}
		return file.Sync()
	}
	written := int64(0)
	return every(ctx, interval, func() (bool, error) {
		_, err := file.Write(zeros)
		written += int64(chunk)
		return written >= size, err
	})
}
