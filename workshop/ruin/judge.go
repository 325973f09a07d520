package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/testkit/nextstep"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

const (
	diskBytes = 64 << 20         // of a disk that is filled
	startTime = 40 * time.Second // for a start
	endTime   = 12 * time.Second // from a signal, or a full disk with work, to the end
	scrape    = time.Second      // for the metrics
)

// trial is a fault and what came of it.
type trial struct {
	seed    uint64
	base    string
	fault   fault
	outcome string
	broken  []string // rules
	log     []byte
}

func (t *trial) String() string {
	text := fmt.Sprintf("seed %d: %s, %s: %s", t.seed, t.base, t.fault, t.outcome)
	for _, rule := range t.broken {
		text += "\n\tBROKEN: " + rule
	}
	return text
}

func (t *trial) breaks(format string, args ...any) {
	t.broken = append(t.broken, fmt.Sprintf(format, args...))
}

// try makes the fault of a seed on a copy, and judges what a node does on it.
func (w *world) try(ctx context.Context, seed uint64) (t *trial, err error) {
	random := rand.New(rand.NewPCG(seed, 0))
	t = &trial{seed: seed, base: []string{"stopped", "killed"}[random.IntN(2)]}
	disk := w.path("disk")
	dir := filepath.Join(disk, "copy")
	if err := os.Mkdir(disk, 0o755); err != nil {
		return nil, err
	}
	if t.fault, err = draw(random, w.path(t.base)); err != nil {
		return nil, err
	}
	if t.fault.kind == "fill the disk" {
		if err := exec.CommandContext(ctx, "mount", "-t", "tmpfs", "-o", fmt.Sprint("size=", diskBytes), "tmpfs",
			disk).Run(); err != nil {
			t.fault.kind = "flip" // only root fills disks
		}
		defer func() { err = errors.Join(err, exec.Command("umount", disk).Run(), os.RemoveAll(disk)) }()
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(disk)) }()
	}
	if err := os.CopyFS(dir, os.DirFS(w.path(t.base))); err != nil {
		return nil, err
	}
	if err := os.Chmod(filepath.Join(dir, "protocol.key"), 0o600); err != nil {
		return nil, err
	}
	log := w.path("disk/copy.log")
	if t.fault.kind == "fill the disk" {
		log = w.path("full.log")
	}
	defer os.Remove(w.path("full.log")) //nolint:errcheck // it need not be there
	return t, w.judge(ctx, t, random, log)
}

// judge starts a node on the copy and holds what it does to the rules.
func (w *world) judge(ctx context.Context, t *trial, random *rand.Rand, log string) error {
	dir := w.path("disk/copy")
	if !t.fault.running {
		if err := t.fault.make(random, dir); err != nil {
			return err
		}
	}
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	n, process, err := w.start(starting, log)
	if err != nil {
		return err
	}
	defer process.Kill()
	if n != nil && t.fault.running {
		if err := t.fault.make(random, dir); err != nil && !errors.Is(err, os.ErrNotExist) { // the node may have removed it
			return err
		}
	}
	if n != nil {
		w.ask(ctx, t, n, log)
	}
	asked := false
	select {
	case <-process.Ended():
	default:
		asked = true
		_ = process.Signal(syscall.SIGTERM) // it may have ended just now
	}
	over := time.NewTimer(endTime)
	defer over.Stop()
	select {
	case <-process.Ended():
	case <-over.C:
		t.breaks("it did not end within %v of SIGTERM", endTime)
		process.Kill()
	}
	return w.judgeEnd(t, process.Wait(), n != nil, asked, log)
}

// start starts a node and waits until it serves or has ended.
func (w *world) start(ctx context.Context, log string) (*client.Client, *program.Process, error) {
	process, err := w.begin(log)
	if err != nil {
		return nil, nil, err
	}
	n := new(program.Node)
	if err := process.AwaitReady(ctx, w.ready(), n); err != nil {
		return nil, process, nil
	}
	c, err := client.New(n.RPC)
	w.admin = n.Admin
	return c, process, err
}

// judgeEnd holds how a node ended to the rules.
func (w *world) judgeEnd(t *trial, ended error, served, asked bool, log string) (err error) {
	if t.log, err = os.ReadFile(log); err != nil {
		return err
	}
	text := string(t.log)
	code := 0
	if exit := new(exec.ExitError); errors.As(ended, &exit) {
		code = exit.ExitCode()
	}
	switch {
	case served && asked:
		t.outcome = fmt.Sprintf("served, then exit %d", code)
	case served:
		t.outcome = fmt.Sprintf("served and ended by itself, exit %d", code)
	default:
		t.outcome = fmt.Sprintf("no start, exit %d", code)
	}
	if strings.Contains(text, "panic:") || strings.Contains(text, "goroutine 1 [") || code != 0 && code != 1 && code != 2 {
		t.breaks("it ended by a panic or a signal, exit code %d", code)
	}
	if strings.Contains(text, "another node signed") {
		t.breaks("damage is told as another node's signature")
	}
	if code != 0 {
		w.judgeMessage(t, lastError(text))
	}
	if !asked && code == 0 {
		t.breaks("it ended by itself with exit code 0")
	}
	return nil
}

// judgeMessage holds the message of a node that ended to naming a next step: a command that the program has, or a section
// that a page has.
func (w *world) judgeMessage(t *trial, message string) {
	commands, pages := nextstep.Commands(message), nextstep.Pages(message)
	if len(commands)+len(pages) == 0 {
		t.breaks("the message names neither a command nor a page as the next step: %s", message)
	}
	for _, line := range commands {
		var words []string
		for _, word := range strings.Fields(line)[1:] {
			if strings.HasPrefix(word, "-") || strings.ToUpper(word) == word {
				break
			}
			words = append(words, word)
		}
		if output, err := exec.Command(w.binary, append(words, "--help")...).CombinedOutput(); err != nil {
			t.breaks("the message names `%s`, which there is not: %s", line, output)
		}
	}
	for _, section := range pages {
		if err := nextstep.CheckPage(".", section); err != nil {
			t.breaks("the message names %s: %v", section, err)
		}
	}
}

// lastError is the message of a command that failed.
func lastError(log string) string {
	at := strings.LastIndex(log, "Error: ")
	if at < 0 {
		return ""
	}
	return log[at:]
}

// ask asks a node for all that is known, and holds the answers to it. An error is no wrong answer.
func (w *world) ask(ctx context.Context, t *trial, c *client.Client, log string) {
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	told := func(words ...string) bool {
		content, _ := os.ReadFile(log) // what is not there says nothing
		for _, word := range words {
			if bytes.Contains(content, []byte(word)) {
				return true
			}
		}
		return false
	}
	if head, err := c.BlockNumber(ctx); err == nil && head < w.head && !told("level=WARN", "level=ERROR") {
		t.breaks("the chain ends at block %d, without a word, and had %d", head, w.head)
	}
	for h, want := range w.hashes {
		if block, err := c.BlockByNumber(ctx, api.AtHeight(h), true); err == nil && block != nil && block.Hash != want {
			t.breaks("block %d is %s, want %s", h, block.Hash, want)
		}
	}
	if got, err := c.Balance(ctx, signer().Account(), api.AtHeight(w.head)); err == nil && got != w.balance {
		t.breaks("the balance is %v, want %v", got, w.balance)
	}
	for _, id := range w.paid {
		if receipt, err := c.Receipt(ctx, id); err == nil && receipt == nil && !told("level=ERROR") {
			t.breaks("transaction %s, which was in a block, is unknown without a word", id)
		}
	}
	lost := 0
	for _, id := range w.pending {
		if tx, err := c.Transaction(ctx, id); err == nil && tx == nil {
			lost++
		}
	}
	if lost > 0 && !told("journal is damaged", "journal is missing", "journal ends within a record") {
		t.breaks("%d of %d acknowledged transactions are lost without a word", lost, len(w.pending))
	}
	begun := time.Now()
	if err := w.scrape(ctx); err != nil {
		t.breaks("the metrics: %v", err)
	}
	if took := time.Since(begun); took > scrape {
		t.breaks("the metrics take %v, more than %v", took.Round(time.Millisecond), scrape)
	}
	w.work(ctx, t, c)
}

// work has the node take transfers: what is damaged must not be built upon, and what is acknowledged is remembered.
func (w *world) work(ctx context.Context, t *trial, c *client.Client) {
	for range 3 {
		tx, err := c.Build(ctx, signer().Account(), client.Transfer(types.Account{9}, 1), client.TxFields{})
		if err != nil {
			return
		}
		signed, err := signer().Sign(tx)
		if err != nil {
			t.breaks("sign: %v", err)
			return
		}
		if _, err := c.Send(ctx, signed); err != nil {
			return
		}
	}
}
