package main

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // for before.txt
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/hunt"
)

// before is the output of [contracts] with -raw, before machine cost had bounds.
//
//go:embed before.txt
var before string

const alice, bob, carol person = "alice", "bob", "carol"

// late is a deadline that never passes.
const late = "18446744073709551615"

// contracts prints the cost of calls of every example by parts: raw, or compared with the earlier cost.
func contracts(out io.Writer, raw bool) (err error) {
	engine, err := wasm.New(wasm.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	m, err := newMarket(engine, "../contracts/wasm", alice, bob, carol)
	if err != nil {
		return err
	}
	m.visit()
	if m.err != nil {
		return m.err
	}
	if raw {
		for _, r := range m.rows {
			fmt.Fprintf(out, "%s", r.name)
			for _, v := range r.all() {
				fmt.Fprintf(out, "\t%d", *v)
			}
			fmt.Fprintln(out)
		}
		return nil
	}
	was, err := readRows(before)
	if err != nil {
		return err
	}
	fmt.Fprint(out, "| transaction | gas before | gas now | | intrinsic | code | memory | instructions | ",
		"host functions |\n")
	fmt.Fprintf(out, "|---|---:|---:|---:|---|---|---|---|---|\n")
	for _, r := range m.rows {
		printRow(out, r, was)
	}
	return nil
}

// printRow prints a call's gas: each part before and now.
func printRow(out io.Writer, r row, was map[string]parts) {
	old, known := was[r.name]
	if !known {
		fmt.Fprintf(out, "| %s | – | %d | ", r.name, r.total)
	} else {
		fmt.Fprintf(out, "| %s | %d | %d | %.2f", r.name, old.total, r.total, float64(r.total)/float64(old.total))
	}
	for i, v := range r.all()[1:] {
		if known {
			fmt.Fprintf(out, " | %d → %d", *old.all()[i+1], *v)
		} else {
			fmt.Fprintf(out, " | %d", *v)
		}
	}
	fmt.Fprintln(out, " |")
}

// readRows reads the raw output of [contracts].
func readRows(text string) (map[string]parts, error) {
	rows := map[string]parts{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		name, numbers, _ := strings.Cut(lines.Text(), "\t")
		var p parts
		values := make([]any, 0, len(p.all()))
		for _, v := range p.all() {
			values = append(values, v)
		}
		if _, err := fmt.Sscan(numbers, values...); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rows[name] = p
	}
	return rows, lines.Err()
}

// visit calls functions of every example.
func (m *market) visit() {
	m.send("a transfer of coins", alice, hunt.Action{
		Target: bob.account(), Value: 1, Payload: types.Transfer{},
	})
	m.counters()
	for _, sdk := range []string{"", "as-"} {
		m.tokens(sdk)
		m.collectibles(sdk)
		m.escrows(sdk)
		m.vestings(sdk)
		m.multisigs(sdk)
	}
	m.exchange()
}

func (m *market) counters() {
	k := m.deploy("counter", nil)
	k.prepare(alice, "add", arguments{"amount": 5})
	k.call(bob, "add", arguments{"amount": 2})
	k = m.deploy("as-counter", arguments{"start": 5})
	k.prepare(alice, "increase", arguments{"amount": 5})
	k.call(bob, "increase", arguments{"amount": 2})
}

func (m *market) token(module string) *shop {
	return m.deploy(module, arguments{"name": "Gold", "symbol": "GLD", "decimals": 2, "initialSupply": 1_000_000})
}

func (m *market) tokens(sdk string) {
	k := m.token(sdk + "nep20")
	transfer := arguments{"to": bob.account(), "amount": 100}
	k.prepare(alice, "transfer", transfer)
	k.call(alice, "transfer", transfer)
	k.send(k.module+": transfer, arguments in binary", alice, "transfer", k.binary("transfer", transfer), nil)
	k.prepare(alice, "approve", arguments{"spender": bob.account(), "amount": 500})
	k.call(alice, "approve", arguments{"spender": bob.account(), "amount": 1_000})
	k.call(bob, "transferFrom", arguments{"from": alice.account(), "to": bob.account(), "amount": 10})
	k.call(alice, "mint", arguments{"to": bob.account(), "amount": 10})
	k.call(bob, "burn", arguments{"amount": 10})
}

// binary encodes a function's arguments in the binary form.
func (s *shop) binary(function string, args any) []byte {
	if s.market.err != nil {
		return nil
	}
	encode := func() ([]byte, error) {
		a, err := abi.FromCode(s.code)
		if err != nil {
			return nil, err
		}
		f, _ := a.Function(function)
		text, err := json.Marshal(args)
		if err != nil {
			return nil, err
		}
		object, err := a.EncodeJSON(f.Args, text, abi.Hex)
		if err != nil {
			return nil, err
		}
		return a.Binary(f.Args, object)
	}
	data, err := encode()
	s.market.err = err
	return data
}

func (m *market) collectibles(sdk string) {
	k := m.deploy(sdk+"nft", arguments{"symbol": "ART"})
	mint := func(id string) arguments {
		return arguments{"to": bob.account(), "tokenId": id, "properties": `{"name":"a"}`}
	}
	k.prepare(alice, "mint", mint("0x01"))
	k.call(alice, "mint", mint("0x02"))
	k.call(bob, "approve", arguments{"to": carol.account(), "tokenId": "0x01"})
	k.call(bob, "transfer", arguments{"to": alice.account(), "tokenId": "0x02"})
	k.call(bob, "burn", arguments{"tokenId": "0x01"})
}

func (m *market) escrows(sdk string) {
	k := m.deploy(sdk+"escrow", nil)
	terms := arguments{"seller": alice.account(), "arbiter": carol.account(), "deadline": m.now() + 3_600}
	k.prepare(bob, "open", terms, 500)
	k.call(bob, "open", terms, 500)
	k.call(bob, "release", arguments{"deal": 0})
	k.call(carol, "refund", arguments{"deal": 1})
}

// now returns the time of the last block as contracts see it, in seconds.
func (m *market) now() uint64 { return m.head.Timestamp / 1_000 }

func (m *market) vestings(sdk string) {
	k := m.deploy(sdk+"vesting", nil)
	now := m.now()
	terms := arguments{"to": bob.account(), "start": now - 500, "cliff": now - 100, "end": now + 500, "revocable": true}
	k.prepare(alice, "grant", terms, 30_000)
	k.call(alice, "grant", terms, 30_000)
	k.call(bob, "release", arguments{"id": 0})
	k.call(alice, "revoke", arguments{"id": 0})
}

func (m *market) multisigs(sdk string) {
	k := m.deploy(sdk+"multisig", arguments{"owners": []any{alice.account(), bob.account()}, "threshold": 2})
	k.call(carol, "deposit", nil, 9)
	pay := arguments{"to": carol.account(), "method": "", "args": "0x", "value": 1}
	k.prepare(alice, "propose", pay)
	k.call(alice, "propose", pay)
	k.call(bob, "confirm", arguments{"id": 0})
	k.call(alice, "execute", arguments{"id": 0})
}

func (m *market) exchange() {
	m.silent = true // the table has tokens already
	tokens := []*shop{m.token("nep20"), m.token("nep20"), m.token("nep20")}
	var path, pools []types.ContractID
	for _, t := range tokens {
		path = append(path, t.ContractID)
	}
	var pool *shop
	for i := range 2 {
		m.silent = i > 0
		pool = m.deploy("pool", arguments{"tokenA": path[i], "tokenB": path[i+1]})
		for _, t := range tokens[i : i+2] {
			t.prepare(alice, "approve", arguments{"spender": pool.ContractID, "amount": 100_000})
		}
		add := arguments{"maxA": 40_000, "maxB": 40_000, "minShares": 0, "deadline": late}
		pool.prepare(alice, "add", add)
		pool.call(alice, "add", add)
		pool.call(alice, "remove", arguments{"shares": 100, "minA": 0, "minB": 0, "deadline": late})
		pools = append(pools, pool.ContractID)
	}
	m.silent = false
	router := m.deploy("router", arguments{"poolCode": types.CodeHash(sha256.Sum256(pool.code))})
	tokens[0].prepare(alice, "approve", arguments{"spender": router.ContractID, "amount": 10_000})
	swap := arguments{"pools": pools, "path": path, "amount": 1_000, "minimum": 0, "deadline": late}
	router.prepare(alice, "swap", swap)
	router.call(alice, "swap", swap)
}
