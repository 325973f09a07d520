package fuzz

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/types"
)

const (
	seenNumbers = 256 // numbers remembered
	seenValues  = 16  // values remembered per name
	seenDigests = 512 // digests remembered
	mostItems   = 3   // greatest length of a list
)

// dictionary holds values that earlier calls took, returned and logged.
type dictionary struct {
	numbers  []*big.Int
	accounts []name
	good     map[string][]any // arguments of successful calls, by parameter name and type
	next     int              // index of the next number to replace
	i32, i64 []*big.Int       // constants in the contracts' codes

	// openings holds, by digest, the calls that computed a digest. A contract that keeps a commitment compares it with
	// the digest of what a later call reveals: whoever commits to the digest of a call can make that call afterwards.
	openings   map[string]Move
	digests    []string // of openings, in hex
	nextDigest int      // index of the next digest to replace
}

func newDictionary(w *World) *dictionary {
	d := &dictionary{good: map[string][]any{}, openings: map[string]Move{}}
	for _, n := range w.named.order {
		d.accounts = append(d.accounts, name(n))
	}
	d.accounts = append(d.accounts, name(types.Account{}.String()))
	for _, given := range w.given {
		d.json(given)
	}
	d.i32, d.i64 = worthwhile(w.i32), worthwhile(w.i64)
	return d
}

// number remembers a number.
func (d *dictionary) number(text string) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || n.BitLen() <= 1 || len(text) > 40 {
		return
	}
	for _, known := range d.numbers {
		if known.Cmp(n) == 0 {
			return
		}
	}
	if len(d.numbers) < seenNumbers {
		d.numbers = append(d.numbers, n)
		return
	}
	d.next = (d.next + 1) % seenNumbers
	d.numbers[d.next] = n
}

// value remembers the numbers in a decoded JSON value.
func (d *dictionary) value(v any) {
	switch v := v.(type) {
	case json.Number:
		d.number(v.String())
	case string:
		d.number(v) // a large number
	case []any:
		for _, item := range v {
			d.value(item)
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			d.value(v[key])
		}
	}
}

// json remembers the numbers in a JSON text.
func (d *dictionary) json(text []byte) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) == nil { // invalid JSON has no numbers to learn
		d.value(v)
	}
}

// took remembers an argument of a successful call.
func (d *dictionary) took(p abi.Parameter, v any) {
	key := p.Name + " " + p.Type.String()
	if values := d.good[key]; len(values) < seenValues {
		d.good[key] = append(values, v)
	} else {
		d.next++
		values[d.next%seenValues] = v
	}
}

// computed remembers the digests that a call computed, whether or not it succeeded.
func (d *dictionary) computed(m Move, digests [][32]byte) {
	m.Script = nil
	for _, digest := range digests {
		text := "0x" + hex.EncodeToString(digest[:])
		if _, known := d.openings[text]; known {
			continue
		}
		if len(d.digests) < seenDigests {
			d.digests = append(d.digests, text)
		} else {
			delete(d.openings, d.digests[d.nextDigest])
			d.digests[d.nextDigest] = text
			d.nextDigest = (d.nextDigest + 1) % seenDigests
		}
		d.openings[text] = m
	}
}

// opening returns the call that computed a digest which an argument contains.
func (d *dictionary) opening(argument any) (m Move, ok bool) {
	switch v := argument.(type) {
	case string:
		m, ok = d.openings[v]
	case []any:
		for i := 0; i < len(v) && !ok; i++ {
			m, ok = d.opening(v[i])
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if m, ok = d.opening(v[key]); ok {
				break
			}
		}
	}
	return m, ok
}

// maker generates values of types.
type maker struct {
	*rand.Rand
	abi  abi.ABI
	seen *dictionary
	now  uint64 // Unix seconds
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// arguments generates arguments. choose returns the allowed values of a parameter, or none if any are allowed.
func (m maker) arguments(parameters []abi.Parameter, choose func(parameter string) []any) map[string]any {
	args := make(map[string]any, len(parameters))
	for _, p := range parameters {
		earlier := m.seen.good[p.Name+" "+p.Type.String()]
		switch choices := choose(p.Name); {
		case len(choices) > 0:
			args[p.Name] = pick(m.Rand, choices)
		case len(earlier) > 0 && m.IntN(4) == 0:
			args[p.Name] = pick(m.Rand, earlier)
		default:
			args[p.Name] = m.make(p.Type)
		}
	}
	return args
}

func anything(string) []any { return nil }

// make generates a value of a type.
func (m maker) make(t abi.Type) any {
	if inner, ok := t.Optional(); ok {
		if m.IntN(4) == 0 {
			return nil
		}
		return m.make(inner)
	}
	if element, ok := t.List(); ok {
		list := make([]any, pick(m.Rand, []int{0, 1, 1, 1, 2, mostItems}))
		for i := range list {
			list[i] = m.make(element)
		}
		return list
	}
	if items, ok := t.Tuple(); ok {
		tuple := make([]any, len(items))
		for i := range items {
			tuple[i] = m.make(items[i])
		}
		return tuple
	}
	if named, ok := m.abi.Type(t.String()); ok {
		return m.named(named)
	}
	return m.base(t)
}

func (m maker) named(named abi.Named) any {
	if named.Kind == abi.Record {
		return m.arguments(named.Fields, anything)
	}
	variant := pick(m.Rand, named.Variants)
	if len(variant.Fields) == 0 {
		return variant.Name
	}
	return map[string]any{variant.Name: m.arguments(variant.Fields, anything)}
}

func (m maker) base(t abi.Type) any {
	if i, ok := integerType(t); ok {
		return m.integer(i)
	}
	if n, ok := t.FixedBytes(); ok {
		return m.bytes(n)
	}
	switch abi.Base(t.String()) {
	case abi.Bool:
		return m.IntN(2) == 0
	case abi.Account:
		return pick(m.Rand, m.seen.accounts)
	case abi.Hash:
		return m.bytes(len(types.CodeHash{}))
	case abi.Bytes:
		if len(m.seen.digests) > 0 && m.IntN(8) == 0 {
			return m.bytes(sha256.Size)
		}
		return m.bytes(m.IntN(40))
	default:
		return pick(m.Rand, []string{"", "a", "name", strings.Repeat("long", 20), "ä\"\\\n"})
	}
}

func (m maker) bytes(n int) string {
	if n == sha256.Size && len(m.seen.digests) > 0 && m.IntN(2) == 0 {
		return pick(m.Rand, m.seen.digests)
	}
	b := make([]byte, n)
	if fill := m.IntN(3); fill > 0 {
		for i := range b {
			b[i] = byte(m.Uint32())
		}
	}
	return "0x" + hex.EncodeToString(b)
}

// integer is the range of an integer type.
type integer struct {
	least, most *big.Int
	bits        uint
}

var one = big.NewInt(1)

// integers are the integer types.
var integers = func() map[string]integer {
	all := map[string]integer{}
	for _, bits := range []uint{8, 16, 32, 64, 128} {
		whole, half := new(big.Int).Lsh(one, bits), new(big.Int).Lsh(one, bits-1)
		text := strconv.FormatUint(uint64(bits), 10)
		all["u"+text] = integer{new(big.Int), new(big.Int).Sub(whole, one), bits}
		all["i"+text] = integer{new(big.Int).Neg(half), new(big.Int).Sub(half, one), bits}
	}
	return all
}()

func integerType(t abi.Type) (integer, bool) {
	i, ok := integers[t.String()]
	return i, ok
}

// integer generates an integer: near a boundary, near a number seen earlier, a time in the near future, or of a
// random size.
func (m maker) integer(i integer) json.Number {
	n := new(big.Int)
	switch kind := m.IntN(5); {
	case i.bits == 64 && m.IntN(16) == 0:
		n.SetUint64(m.now + pick(m.Rand, soon) + m.Uint64N(2)) // a deadline
	case kind == 4 && len(m.constants(i)) > 0:
		n.Set(pick(m.Rand, m.constants(i)))
		switch m.IntN(6) {
		case 0:
			n.Add(n, one)
		case 1:
			n.Sub(n, one)
		case 2:
			n.Add(n, pick(m.Rand, m.constants(i)))
		}
	case kind == 0:
		switch m.IntN(4) {
		case 0:
			n.Set(i.most)
		case 1:
			n.SetInt64(int64(m.IntN(3)))
		default:
			n.Lsh(one, m.UintN(i.bits))
		}
		n.Add(n, big.NewInt(int64(m.IntN(3)-1)))
	case kind <= 2 && len(m.seen.numbers) > 0:
		n.Set(pick(m.Rand, m.seen.numbers))
		m.vary(n)
	default:
		n.SetUint64(m.Uint64())
		if i.bits > 64 {
			n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(m.Uint64()))
		}
		n.Rsh(n, uint(n.BitLen())-min(uint(n.BitLen()), 1+m.UintN(i.bits)))
	}
	if i.least.Sign() < 0 && m.IntN(4) == 0 {
		n.Neg(n)
	}
	if n.Cmp(i.least) < 0 {
		n.Set(i.least)
	}
	if n.Cmp(i.most) > 0 {
		n.Set(i.most)
	}
	return json.Number(n.String())
}

// soon lists waiting times, in seconds.
var soon = []uint64{1, 60, 3_600, 86_400, 30 * 86_400}

// constants returns the code constants that an integer of this size may be compared with.
func (m maker) constants(i integer) []*big.Int {
	if i.bits > 32 {
		return m.seen.i64
	}
	return m.seen.i32
}

// worthwhile removes duplicates and constants that are tried anyway.
func worthwhile(constants []uint64) (numbers []*big.Int) {
	slices.Sort(constants)
	for _, n := range slices.Compact(constants) {
		if n > 2 && n < math.MaxUint64-2 {
			numbers = append(numbers, new(big.Int).SetUint64(n))
		}
	}
	return numbers
}

// vary changes a number seen earlier, or leaves it unchanged.
func (m maker) vary(n *big.Int) {
	switch m.IntN(8) {
	case 0:
		n.Add(n, one)
	case 1:
		n.Sub(n, one)
	case 2:
		n.Rsh(n, 1)
	case 3:
		n.Lsh(n, 1)
	case 4:
		n.Div(n.Mul(n, big.NewInt(997)), big.NewInt(1000))
	case 5:
		n.Div(n, big.NewInt(1+int64(m.IntN(100))))
	}
}

// mostAccounts bounds the number of known accounts.
const mostAccounts = 64

// account remembers an account returned by a call.
func (d *dictionary) account(w *World, text string) {
	account, err := abi.Hex(text)
	if _, named := w.named.names[account]; err != nil || named || len(d.accounts) >= mostAccounts {
		return
	}
	for _, known := range d.accounts {
		if string(known) == text {
			return
		}
	}
	d.accounts = append(d.accounts, name(text))
}
