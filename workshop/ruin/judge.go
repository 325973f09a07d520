package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/testkit/nextstep"
	"github.com/cairn-chain/cairn/types"
)

const (
	diskBytes = 64 << 20         // size of a disk to fill
	startTime = 40 * time.Second // time limit of a start
	endTime   = 12 * time.Second // time limit from a signal, or from a full disk under load, to the end
	scrape    = time.Second      // time limit for the metrics
)

// trial is a fault with its result.
type trial struct {
	seed    uint64
	base    string
	fault   fault
	outcome string
	broken  []string // violated rules
	log     string
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

// try makes the fault of a seed on a copy, and judges a node that runs on it.
func (w *world) try(ctx context.Context, seed uint64) (t *trial, err error) {
	random := rand.New(rand.NewPCG(seed, 0))
	bases := strings.Split(w.nodes, ",")
	t = &trial{seed: seed, base: bases[random.IntN(len(bases))]}
	switch {
	case t.base == "member":
		return t, w.tryMember(ctx, t, random)
	case slices.Contains(followers, t.base):
		return t, w.tryFollower(ctx, t, random)
	}
	return t, w.tryCopy(ctx, t, random, target{known: &w.alone})
}

// tryCopy makes the fault on a copy of a trial's directory, on a disk of its own, and judges a node on it.
func (w *world) tryCopy(ctx context.Context, t *trial, random *rand.Rand, place target) (err error) {
	disk := w.path("disk")
	place.dir, place.log = filepath.Join(disk, "copy"), w.path("disk/copy.log")
	if err := os.Mkdir(disk, 0o755); err != nil {
		return err
	}
	if t.fault, err = draw(random, w.path(t.base)); err != nil {
		return err
	}
	if t.fault.kind == "fill the disk" {
		if err := exec.CommandContext(ctx, "mount", "-t", "tmpfs", "-o", fmt.Sprint("size=", diskBytes), "tmpfs",
			disk).Run(); err != nil {
			t.fault.kind = "flip" // only root can fill disks
		}
		defer func() { err = errors.Join(err, exec.Command("umount", disk).Run(), os.RemoveAll(disk)) }()
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(disk)) }()
	}
	if err := copyDir(place.dir, w.path(t.base)); err != nil {
		return err
	}
	if t.fault.kind == "fill the disk" {
		place.log = w.path("full.log")
	}
	defer os.Remove(w.path("full.log")) //nolint:errcheck // it need not be there
	return w.judge(ctx, t, random, place)
}

// tryMember makes the fault in one member of a cluster, and judges that member. The other two are undamaged.
func (w *world) tryMember(ctx context.Context, t *trial, random *rand.Rand) (err error) {
	victim := random.IntN(len(w.members))
	t.base = "member " + w.members[victim].name
	if t.fault, err = draw(random, w.members[victim].saved); err != nil {
		return err
	}
	if t.fault.kind == "fill the disk" {
		t.fault.kind = "zero" // the identity of a member stays on its disk
	}
	var others []*running
	for i, m := range w.members {
		if err := m.restore(); err != nil {
			return err
		}
		if i == victim {
			continue
		}
		other, err := w.begin(m.target)
		if err != nil {
			return err
		}
		defer other.process.Kill()
		others = append(others, other)
	}
	if err := w.judge(ctx, t, random, w.members[victim].target); err != nil {
		return err
	}
	for _, other := range others {
		w.judgeOther(ctx, t, other)
	}
	return nil
}

// judgeOther checks that an undamaged node continues: it makes blocks with all acknowledged transactions.
func (w *world) judgeOther(ctx context.Context, t *trial, r *running) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if !w.serves(ctx, r) {
		t.breaks("another node does not serve: %s", lastError(r.told()))
		return
	}
	for _, id := range r.known.pending {
		if _, err := r.client.WaitReceipt(ctx, id); err != nil {
			t.breaks("another node does not bring transaction %s into a block: %v", id, err)
			break
		}
	}
	w.ask(ctx, t, r)
	_ = r.process.Signal(syscall.SIGTERM) // it may have ended just now
	select {
	case <-r.process.Ended():
		if err := r.process.Wait(); err != nil {
			t.breaks("another node ended with %v: %s", err, lastError(r.told()))
		}
	case <-time.After(endTime):
		t.breaks("another node did not end within %v of SIGTERM", endTime)
	}
}

// judge starts a node on the copy and checks its behaviour against the rules.
func (w *world) judge(ctx context.Context, t *trial, random *rand.Rand, place target) error {
	if !t.fault.running {
		if err := t.fault.make(random, place.dir); err != nil {
			return err
		}
	}
	r, err := w.begin(place)
	if err != nil {
		return err
	}
	defer r.process.Kill()
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	served := w.serves(starting, r)
	if served && t.fault.running {
		if err := t.fault.make(random, place.dir); err != nil && !errors.Is(err, os.ErrNotExist) { // it may be gone
			return err
		}
	}
	if served {
		if place.others != nil {
			w.catchUp(starting, t, r)
		}
		w.ask(ctx, t, r)
	}
	asked := false
	select {
	case <-r.process.Ended():
	default:
		asked = true
		_ = r.process.Signal(syscall.SIGTERM) // it may have ended just now
	}
	over := time.NewTimer(endTime)
	defer over.Stop()
	select {
	case <-r.process.Ended():
	case <-over.C:
		t.breaks("it did not end within %v of SIGTERM", endTime)
		r.process.Kill()
	}
	code := exitCode(r.process.Wait())
	w.judgeEnd(t, r.told(), code, served, asked)
	switch {
	case code == 1 && !asked && t.fault.kind != "fill the disk":
		return w.judgeRestart(ctx, t, place)
	case code == 2 && place.others != nil && strings.Contains(lastError(r.told()), "/db away"):
		return w.judgeRefetch(ctx, t, place)
	}
	return nil
}

// catchUp lets a node get the newest block of the others. If it cannot, it must say why.
func (w *world) catchUp(ctx context.Context, t *trial, r *running) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-r.process.Ended():
			cancel()
		case <-ctx.Done():
		}
	}()
	_, err := r.client.WaitReceipt(ctx, r.others.pending[0])
	select {
	case <-r.process.Ended(): // judged by what it said last
		return
	default:
	}
	if err != nil && !warned(r.told()) {
		t.breaks("it does not catch up with the others, and says nothing: %v", err)
	}
}

// warned reports whether a log has a warning or an error.
func warned(log string) bool {
	return strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR")
}

// judgeRestart restarts a node that ended with exit code 1, as a supervisor does. The restart must help.
func (w *world) judgeRestart(ctx context.Context, t *trial, place target) error {
	r, err := w.begin(place)
	if err != nil {
		return err
	}
	defer r.process.Kill()
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if w.serves(starting, r) {
		return nil
	}
	r.process.Kill()
	if exitCode(r.process.Wait()) == 1 {
		t.breaks("a service would start it for ever: it ends with exit code 1 again")
	}
	return nil
}

// exitCode returns the exit code of a process, or -1 if a signal ended it.
func exitCode(ended error) int {
	if exit, ok := errors.AsType[*exec.ExitError](ended); ok {
		return exit.ExitCode()
	}
	return 0
}

// judgeEnd checks a node's end against the rules.
func (w *world) judgeEnd(t *trial, text string, code int, served, asked bool) {
	t.log = text
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
	if strings.Contains(text, "has halted") || strings.Contains(text, "signed two blocks") {
		t.breaks("damage is told as the producer's fault")
	}
	if code != 0 {
		w.judgeMessage(t, lastError(text))
	}
	if !asked && code == 0 {
		t.breaks("it ended by itself with exit code 0")
	}
}

// judgeMessage checks that a node's last message names a next step: a command of the program, or a section of a page.
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
		if err := nextstep.CheckPage("..", section); err != nil {
			t.breaks("the message names %s: %v", section, err)
		}
	}
}

// lastError returns the message of a failed command.
func lastError(log string) string {
	at := strings.LastIndex(log, "Error: ")
	if at < 0 {
		return ""
	}
	return log[at:]
}

// ask queries a node for everything that is known, and compares the answers. An error is not a wrong answer.
func (w *world) ask(ctx context.Context, t *trial, r *running) {
	defer r.client.Close()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	c, known := r.client, r.known
	told := func(words ...string) bool {
		text := r.told()
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
	}
	if head, err := c.BlockNumber(ctx); err == nil && head < known.head && !warned(r.told()) {
		t.breaks("the chain ends at block %d, without a word, and had %d", head, known.head)
	}
	for h, want := range known.hashes {
		if block, err := c.BlockByNumber(ctx, api.AtHeight(h), true); err == nil && block != nil && block.Hash != want {
			t.breaks("block %d is %s, want %s", h, block.Hash, want)
		}
	}
	if got, err := c.Balance(ctx, signer().Account(), api.AtHeight(known.head)); err == nil && got != known.balance {
		t.breaks("the balance is %v, want %v", got, known.balance)
	}
	for _, id := range known.paid {
		if receipt, err := c.Receipt(ctx, id); err == nil && receipt == nil && !told("level=ERROR") {
			t.breaks("transaction %s, which was in a block, is unknown without a word", id)
		}
	}
	lost := 0
	for _, id := range known.pending {
		if tx, err := c.Transaction(ctx, id); err == nil && tx == nil {
			lost++
		}
	}
	if lost > 0 && !told("journal is damaged", "journal is missing", "journal ends in the middle of a record") {
		t.breaks("%d of %d acknowledged transactions are lost without a word", lost, len(known.pending))
	}
	begun := time.Now()
	if err := r.scrape(ctx); err != nil {
		t.breaks("the metrics: %v", err)
	}
	if took := time.Since(begun); took > scrape {
		t.breaks("the metrics take %v, more than %v", took.Round(time.Millisecond), scrape)
	}
	w.work(ctx, t, c)
}

// work sends the node transfers: it must not build on damage, and its acknowledgements are recorded.
func (w *world) work(ctx context.Context, t *trial, c *client.Client) {
	for range 3 {
		tx, err := c.Build(ctx, signer(), client.Transfer(types.Account{9}, 1), client.TxFields{})
		if err != nil {
			return
		}
		signed, err := client.Sign(ctx, signer(), tx)
		if err != nil {
			t.breaks("sign: %v", err)
			return
		}
		if _, err := c.Send(ctx, signed); err != nil {
			return
		}
	}
}
