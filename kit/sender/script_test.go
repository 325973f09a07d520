package sender_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/kit/sender"
	"github.com/cairn-chain/cairn/types"
)

// scripts are the answers of a node, with the requests that a sender must make and the expected content of its journal.
// The TypeScript SDK's sender is tested with the same scripts.
const scripts = "../../sdk/typescript/testdata/sender"

// script has jobs that are sent before the post of a given number, posts with their answers, and the outcome.
type script struct {
	About    string
	Cap      types.Amount // the sender's
	Jobs     []scriptJob
	Posts    []scriptPost
	Journal  []any
	Outcomes map[string]string
	Told     []any // fillers and undecided jobs that the sender reported, in order
}

type scriptJob struct {
	ID     string
	To     int
	Value  uint64
	All    *int
	Cancel string // instead of a job to send: which job to cancel
	Before int
	Gas    types.Gas
	MaxFee types.Amount

	ValidFor int64 // milliseconds
}

type scriptPost struct {
	Calls   []any
	Answers []any
	Fails   any
}

// play is a script while it runs.
type play struct {
	t      *testing.T
	script script
	signer client.Signer
	sender *sender.Sender

	mu     sync.Mutex
	now    time.Time
	posts  []any
	hashes []string
	told

	idle  event // the sender has nothing to do for the first time
	begun event // the first jobs are queued
	over  event // the script has ended
}

// told records the sender's jobs by ID, and its notifications.
type told struct {
	heard  []any
	sent   map[string]*sender.Sent
	cancel map[string]*sender.Sent // jobs to be cancelled
}

// event is something that happens once.
type event struct {
	happened chan struct{}
	once     sync.Once
}

func (e *event) happen() { e.once.Do(func() { close(e.happened) }) }

func TestScripts(t *testing.T) {
	files, err := filepath.Glob(scripts + "/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d scripts: error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := &play{
				t:      t,
				signer: testSigner(t, 3),
				now:    time.UnixMilli(1_000_000), // in the form of the TypeScript SDK
				told:   told{nil, make(map[string]*sender.Sent), make(map[string]*sender.Sent)},
				idle:   event{happened: make(chan struct{})},
				begun:  event{happened: make(chan struct{})},
				over:   event{happened: make(chan struct{})},
			}
			if err := json.Unmarshal(text, &p.script); err != nil {
				t.Fatal(err)
			}
			p.run()
		})
	}
}

func testSigner(t testing.TB, key byte) client.Signer {
	t.Helper()
	k, err := crypto.NewPrivateKey([32]byte{31: key})
	if err != nil {
		t.Fatal(err)
	}
	return client.NewSigner(k)
}

func (p *play) run() {
	server := httptest.NewServer(p)
	defer server.Close()
	c, err := client.New(server.URL)
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	journal := &watched{play: p}
	p.sender, err = sender.Open(p.t.Context(), c, p.signer, sender.Options{
		Journal:     journal,
		Clock:       p,
		MaxFee:      p.script.Cap,
		OnFiller:    func(hash types.TxID) { p.hear("filler ", hash.String()) },
		OnUndecided: func(id string) { p.hear("undecided ", id) },
	})
	if err != nil {
		p.t.Fatal(err)
	}
	<-p.idle.happened
	p.begin(0)
	p.begun.happen()
	<-p.over.happened
	outcomes := make(map[string]string)
	for id := range p.sent {
		outcomes[id] = p.outcome(id)
	}
	for id, sent := range p.cancel {
		outcomes["cancel "+id] = cancelled(sent)
	}
	if err := p.sender.Close(); err != nil {
		p.t.Error(err)
	}
	var calls []any
	for _, post := range p.script.Posts {
		calls = append(calls, post.Calls)
	}
	p.same("posts", p.posts[:min(len(p.posts), len(calls))], calls)
	var entries []any
	for _, e := range journal.Entries() {
		entries = append(entries, p.entry(e))
	}
	p.same("journal", entries, p.script.Journal)
	p.same("outcomes", outcomes, p.script.Outcomes)
	p.same("told", p.heard, p.script.Told)
}

// hear records the sender's notifications.
func (p *play) hear(what, of string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if what == "filler " {
		of = p.name(of)
	}
	p.heard = append(p.heard, what+of)
}

// same compares the outcome of a script with the expected one, an item per line.
func (p *play) same(what string, got, want any) {
	p.t.Helper()
	plain := func(v any) (out any) {
		text, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(text, &out)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		return out
	}
	g, w := plain(got), plain(want)
	if reflect.DeepEqual(g, w) {
		return
	}
	gots, isList := g.([]any)
	wants, _ := w.([]any)
	if !isList {
		p.t.Errorf("%s: %v, want %v", what, g, w)
	}
	for i := range max(len(gots), len(wants)) {
		a, b := any("nothing"), any("nothing")
		if i < len(gots) {
			a = gots[i]
		}
		if i < len(wants) {
			b = wants[i]
		}
		if !reflect.DeepEqual(a, b) {
			p.t.Errorf("%s %d: %v,\nwant %v", what, i, a, b)
		}
	}
}

// begin queues the jobs of a post.
func (p *play) begin(before int) {
	for _, j := range p.script.Jobs {
		if j.Before != before {
			continue
		}
		if j.Cancel != "" {
			p.mu.Lock()
			sent := p.sent[j.Cancel]
			p.cancel[j.Cancel] = sent
			p.mu.Unlock()
			cancelled(sent)
			continue
		}
		how := sender.Job{
			ID: j.ID, GasLimit: j.Gas, MaxFee: j.MaxFee, ValidFor: time.Duration(j.ValidFor) * time.Millisecond,
		}
		var sent *sender.Sent
		var err error
		if j.All == nil {
			sent, err = p.sender.Send(p.t.Context(), client.Transfer(numbered(j.To), types.Amount(j.Value)), how)
		} else {
			sent, err = p.sender.SendAll(p.t.Context(), numbered(*j.All), how)
		}
		if err != nil {
			p.t.Error(err)
			continue
		}
		p.mu.Lock()
		p.sent[j.ID] = sent
		p.mu.Unlock()
	}
}

func numbered(n int) (a types.Account) {
	a[31] = byte(n)
	return a
}

// ended is a context that has ended: a wait with it returns what is already known.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// cancelled cancels a job, and returns the outcome so far.
func cancelled(sent *sender.Sent) string {
	err := sent.Cancel(ended())
	switch {
	case err == nil:
		return "cancelled"
	case errors.Is(err, sender.ErrTooLate):
		return "too_late"
	case errors.Is(err, context.Canceled):
		return "open"
	}
	return err.Error()
}

// outcome is the state of a job.
func (p *play) outcome(id string) string {
	p.mu.Lock()
	sent := p.sent[id]
	p.mu.Unlock()
	receipt, err := sent.Receipt(ended())
	var refused *client.Error
	switch {
	case errors.Is(err, sender.ErrCancelled):
		return "cancelled"
	case errors.Is(err, context.Canceled):
		return "open"
	case errors.As(err, &refused):
		return fmt.Sprint(refused.Data["reason"])
	case err != nil:
		return err.Error()
	case client.Failure(receipt) != nil:
		return "failed"
	}
	return "paid"
}

// Now is [sender.Clock].Now.
func (p *play) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Sleep is [sender.Clock].Sleep: time passes when the sender sleeps, in whole milliseconds.
func (p *play) Sleep(d time.Duration, woken <-chan struct{}) {
	p.idle.happen()
	<-p.begun.happened
	if d >= 0 {
		p.mu.Lock()
		p.now = p.now.Add((d + time.Millisecond - 1).Truncate(time.Millisecond))
		p.mu.Unlock()
		return
	}
	p.mu.Lock()
	posted := len(p.posts) > 1
	p.mu.Unlock()
	if posted {
		p.over.happen() // no job is open any more
	}
	<-woken
}

type scriptCall struct {
	ID     uint64
	Method string
	Params []any
}

// ServeHTTP is the node.
func (p *play) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var calls []scriptCall
	if err := json.NewDecoder(r.Body).Decode(&calls); err != nil {
		p.t.Error(err)
	}
	p.mu.Lock()
	number := len(p.posts)
	var readable []any
	for _, c := range calls {
		readable = append(readable, p.call(c))
	}
	p.posts = append(p.posts, readable)
	p.mu.Unlock()
	if number > 0 {
		p.begin(number + 1)
	}
	if number >= len(p.script.Posts) {
		p.over.happen()
		<-r.Context().Done()
		return
	}
	post := p.script.Posts[number]
	if post.Fails == "unreachable" {
		panic(http.ErrAbortHandler)
	}
	if status, fails := post.Fails.(float64); fails {
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(int(status))
		return
	}
	answers := make([]any, len(calls))
	for i, c := range calls {
		answers[i] = p.answer(post.Answers[i], c)
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answers); err != nil {
		p.t.Error(err)
	}
}

// answer is a script's answer to a call.
func (p *play) answer(said any, c scriptCall) any {
	reply := map[string]any{"jsonrpc": "2.0", "id": c.ID}
	word, isText := said.(string)
	switch {
	case word == "hash":
		reply["result"] = p.hashOf(c.Params[0])
	case word == "internal":
		reply["error"] = map[string]any{"code": -32603, "message": word}
	case isText && !strings.HasPrefix(word, "0x"):
		reply["error"] = map[string]any{"code": codeOf(word), "message": word, "data": map[string]any{"reason": word}}
	default:
		reply["result"] = p.resolve(said)
	}
	return reply
}

// codeOf is the code of the errors with a reason.
func codeOf(reason string) int {
	for _, e := range api.SendRawTransaction.Errors {
		if e.Data["reason"] == reason {
			return e.Code
		}
	}
	return -32000
}

// resolve replaces names by hashes and the account.
func (p *play) resolve(v any) any {
	switch v := v.(type) {
	case string:
		if number, is := strings.CutPrefix(v, "hash "); is {
			n, err := strconv.Atoi(number)
			if err != nil {
				p.t.Error(err)
			}
			return p.hashes[n]
		}
		if v == "self" {
			return p.signer.Account().String()
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = p.resolve(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = p.resolve(v[name])
		}
		return out
	}
	return v
}

// call writes a call in the form of the scripts.
func (p *play) call(c scriptCall) []any {
	out := []any{strings.TrimPrefix(c.Method, "svc_")}
	switch c.Method {
	case api.SendRawTransaction.Name:
		p.name(p.hashOf(c.Params[0]))
		return append(out, p.summary(c.Params[0].(string)))
	case api.GetTransactionReceipt.Name:
		return append(out, p.name(c.Params[0].(string)))
	}
	for _, param := range c.Params {
		switch v := param.(type) {
		case map[string]any:
			param = "of self"
		case string:
			if v == p.signer.Account().String() {
				param = "self"
			} else if len(v) == 66 {
				account, err := types.ParseBytes32[types.Account](v)
				if err != nil {
					p.t.Error(err)
				}
				param = int(account[31])
			}
		}
		out = append(out, param)
	}
	return out
}

// name returns the name of a hash in scripts: by order of appearance.
func (p *play) name(hash string) string {
	at := slices.Index(p.hashes, hash)
	if at < 0 {
		at = len(p.hashes)
		p.hashes = append(p.hashes, hash)
	}
	return fmt.Sprint("hash ", at)
}

func (p *play) hashOf(raw any) string {
	tx := p.decode(raw.(string))
	return tx.ID().String()
}

func (p *play) decode(raw string) *types.Tx {
	var bytes api.Data
	if err := bytes.UnmarshalText([]byte(raw)); err != nil {
		p.t.Error(err)
	}
	tx, err := types.DecodeTx(bytes)
	if err != nil {
		p.t.Error(err)
	}
	return tx
}

// summary writes a transaction in the form of the scripts.
func (p *play) summary(raw string) map[string]any {
	tx := p.decode(raw).Signed().Transaction
	out := map[string]any{
		"nonce": tx.Nonce, "gas": tx.GasLimit, "maxFee": tx.MaxFeePerGas, "priority": tx.MaxPriorityFeePerGas,
	}
	if _, is := tx.Payload.(types.Transfer); is {
		out["to"], out["value"] = any(int(tx.Target[31])), tx.Value
		if tx.Target == p.signer.Account() {
			out["to"] = "self"
		}
	}
	if tx.ValidUntil != nil {
		out["until"] = *tx.ValidUntil
	}
	return out
}

// entry writes an entry of the journal in the form of the scripts.
func (p *play) entry(e sender.Entry) map[string]any {
	id := e.ID
	if kind, _, _ := strings.Cut(strings.TrimPrefix(id, "cairn:"), ":"); strings.HasPrefix(id, "cairn:") {
		id = kind
	}
	out := map[string]any{"type": e.Type, "id": id}
	switch e.Type {
	case sender.Refused:
		out["reason"] = e.Reason
	case sender.Done:
		out["hash"], out["height"], out["status"] = p.name(e.Hash.String()), e.Height, *e.Status
	default:
		raw, err := e.Raw.MarshalText()
		if err != nil {
			p.t.Error(err)
		}
		out["hash"], out["tx"] = p.name(e.Hash.String()), p.summary(string(raw))
	}
	return out
}

// watched is a journal that checks that the sender notifies nobody before the entry is written.
type watched struct {
	sender.Memory
	play *play
}

func (w *watched) Append(entries []sender.Entry) error {
	for _, e := range entries {
		if e.Type == sender.Refused && w.play.outcome(e.ID) != "open" {
			w.play.t.Errorf("%s was told before it was written", e.ID)
		}
	}
	return w.Memory.Append(entries)
}
