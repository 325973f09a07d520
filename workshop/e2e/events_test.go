package e2e

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	txsender "github.com/cairn-chain/cairn/kit/sender"
	"github.com/cairn-chain/cairn/types"
)

// eventWatcher is a program that follows a contract's events. It writes a line for each to its file, on disk before it
// reads the next one, and resumes after the cursor of the last complete line.
const eventWatcher = `package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

func main() {
	if err := watch(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func watch(url, file string) error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	contract, err := types.ParseBytes32[types.ContractID](string(bytes.TrimSpace(text)))
	if err != nil {
		return err
	}
	written, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	whole := written[:bytes.LastIndexByte(written, '\n')+1]
	filter := api.SubscriptionFilter{ContractID: &contract, FromBlock: new(types.Height)}
	if lines := bytes.Split(whole, []byte("\n")); len(lines) > 1 {
		var last api.Event
		if err := json.Unmarshal(lines[len(lines)-2], &last); err != nil {
			return err
		}
		filter.FromBlock, filter.Cursor = nil, last.Cursor
	}
	book, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = book.Truncate(int64(len(whole)))
	}
	if err == nil {
		_, err = book.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return err
	}
	c, err := client.New(url)
	if err != nil {
		return err
	}
	for event, err := range c.SubscribeEvents(context.Background(), filter) {
		if err != nil {
			return err
		}
		line, err := json.Marshal(event)
		if err == nil {
			_, err = book.Write(append(line, '\n'))
		}
		if err == nil {
			err = book.Sync()
		}
		if err != nil {
			return err
		}
		fmt.Println(string(event.Data))
	}
	return nil
}
`

// A program that follows events by its last cursor sees each once and in order, however often it and its node are
// killed. The counter's events show their number.
func TestEventsAreSeenOnce(t *testing.T) {
	t.Parallel()
	kills, each := killsOf(t, 5), 8
	e := &depositWalk{
		t: t, program: compiled(t, eventWatcher), book: filepath.Join(t.TempDir(), "book"),
		dir: filepath.Join(t.TempDir(), "chain"), random: rand.New(rand.NewPCG(5, 6)),
	}
	e.startNode()
	c, signer := fundedSigner(t, e.node, 3, 1000)
	s := openSender(t, c, signer)
	counter := deployExample(t, s, "counter")
	e.deposits = []types.Account{types.Account(counter)} // the program's arguments for watching
	add, err := client.Call(counter, "add", map[string]any{"amount": 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	e.startWatcher()
	var sent []*txsender.Sent
	for range kills {
		for range each {
			job, err := s.Send(t.Context(), add, txsender.Job{ID: strconv.Itoa(len(sent)), GasLimit: bankGas})
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, job)
		}
		e.killOne(sent)
	}
	succeeded(t, sent)
	last := hex.EncodeToString(fmt.Appendf(nil, `"count":%d}`, len(sent)))
	for scanner := bufio.NewScanner(e.lines); !bytes.Contains(e.text(), []byte(last)); {
		if !scanner.Scan() {
			t.Fatalf("the watcher ended by itself: %s", e.complaint.String())
		}
	}
	e.killWatcher(0)
	lines := strings.Split(strings.TrimSpace(string(e.text())), "\n")
	for i, line := range lines {
		var event api.Event
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`"count":%d}`, i+1); !strings.HasSuffix(string(event.Data), want) {
			t.Fatalf("event %d: got %s, want one that ends in %s", i, event.Data, want)
		}
	}
	if len(lines) != len(sent) {
		t.Errorf("got %d events, want one of each of %d calls", len(lines), len(sent))
	}
}

// text returns the book's content.
func (e *depositWalk) text() []byte {
	e.t.Helper()
	text, err := os.ReadFile(e.book)
	if err != nil && !os.IsNotExist(err) {
		e.t.Fatal(err)
	}
	return text
}
