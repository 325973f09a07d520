package hunt

//lint:file-ignore ST1001 Modules are written in wasmgen's language, as in the tests.

import (
	"bytes"
	"crypto/sha256"
	"strings"

	"github.com/cairn-chain/cairn/crypto"
	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// Memory addresses of a contract of host calls. Everything behind bulkAt is zero.
const (
	keyAt     = 64  // key of a BIP-340 signature of the empty message, which is at 128
	hashAt    = 192 // hash; its recoverable signature is at 224
	selfAt    = 448 // the contract's ID
	resultAt  = 512 // followed by 64 bytes
	pointAt   = 640 // point of P-256, followed by a signature
	accountAt = 1_024
	witnessAt = 2_048 // accounts and their witnesses, one behind the other
	bulkAt    = 8_192
	mostBulk  = 1<<20 - bulkAt
)

// hostCall is a host function, with its arguments for a key and other bytes of given lengths.
type hostCall struct {
	name   string
	params []byte
	result byte
	most   int // greatest number of other bytes
	args   func(key, n int64) []int64
}

var hostCalls = []hostCall{
	{"storage_read", manyI32(4), I32, 16 << 10, func(key, n int64) []int64 { return []int64{accountAt, key, bulkAt, n} }},
	{"storage_write", manyI32(4), 0, 16 << 10, func(key, n int64) []int64 { return []int64{accountAt, key, bulkAt, n} }},
	{"storage_delete", manyI32(2), 0, 0, func(key, _ int64) []int64 { return []int64{accountAt, key} }},
	{"balance", manyI32(1), I64, 0, func(_, _ int64) []int64 { return []int64{accountAt} }},
	{"code_hash", manyI32(2), I32, 0, func(_, _ int64) []int64 { return []int64{accountAt, resultAt} }},
	{"transfer", []byte{I32, I64}, I32, 1, func(_, n int64) []int64 { return []int64{accountAt, n} }},
	{"emit", manyI32(6), 0, 16 << 10, func(key, n int64) []int64 {
		return []int64{accountAt, key % 65, bulkAt, n % 4, bulkAt, n}
	}},
	{"sha256", manyI32(3), 0, mostBulk, func(_, n int64) []int64 { return []int64{bulkAt, n, resultAt} }},
	{"keccak256", manyI32(3), 0, mostBulk, func(_, n int64) []int64 { return []int64{bulkAt, n, resultAt} }},
	{"blake3", manyI32(3), 0, mostBulk, func(_, n int64) []int64 { return []int64{bulkAt, n, resultAt} }},
	{"schnorr_verify", manyI32(4), I32, mostBulk, func(_, n int64) []int64 {
		return []int64{keyAt, bulkAt, n, keyAt + 64}
	}},
	{"ecdsa_recover", manyI32(3), I32, 0, func(_, _ int64) []int64 { return []int64{hashAt, hashAt + 32, resultAt} }},
	{"return_data", manyI32(2), 0, 64 << 10, func(_, n int64) []int64 { return []int64{bulkAt, n} }},
	{"debug", manyI32(2), 0, 1 << 10, func(_, n int64) []int64 { return []int64{bulkAt, n} }},
	{"args_read", manyI32(1), 0, 0, func(_, _ int64) []int64 { return []int64{bulkAt} }},
	{"caller", manyI32(1), 0, 0, func(_, _ int64) []int64 { return []int64{resultAt} }},
	{"args_len", nil, I32, 0, func(_, _ int64) []int64 { return nil }},
	noCall: {},
	{"p256_verify", manyI32(3), I32, 0, func(_, _ int64) []int64 { return []int64{pointAt, hashAt, pointAt + 64} }},
	{"account_verify", manyI32(5), I32, 1_024, func(key, n int64) []int64 {
		w := witnesses[key%int64(len(witnesses))]
		return []int64{w.account, bulkAt, n, w.at, w.length()}
	}},
	{"create", append(manyI32(6), I64, I64, I32), I32, 1, func(key, n int64) []int64 {
		return []int64{selfAt, accountAt, bulkAt, key % 65, bulkAt, 0, n, 0, resultAt}
	}},
	{"replace_code", manyI32(1), I32, 0, func(_, _ int64) []int64 { return []int64{selfAt} }},
}

// noCall is the index of no call.
const noCall = 17

// Ways of choosing a call's key or account.
const (
	sameKey   = iota
	nextKey   // unused, next to the previous one
	randomKey // random
	keyModes
)

// host is a sequence of three host calls, repeated until little gas is left or the turns are over, and an end.
var host = &shape{name: "host", kind: Chain, build: buildHost, numbers: append(hostNumbers("1", "2", "3"),
	number{"unroll", 1, 40}, number{"turns", 1, 1 << 24}, number{"end", 0, 3}, number{"output", 0, 64 << 10})}

func hostNumbers(names ...string) (all []number) {
	for _, n := range names {
		all = append(all, number{"call" + n, 0, uint64(len(hostCalls)) - 1}, number{"bytes" + n, 0, mostBulk},
			number{"key" + n, 0, 256}, number{"mode" + n, 0, keyModes - 1})
	}
	return all
}

// reserve is the gas that a contract of host calls keeps for its end: more than the gas that storage look-ups require
// to remain.
const reserve = 400_000

// callsOf writes the host calls that genes name. Local 0 is the source of keys.
func callsOf(m *Module, v values, names ...string) func() []byte {
	var parts [][]byte
	for _, n := range names {
		if v.of("call"+n) == noCall {
			continue
		}
		c := hostCalls[v.of("call"+n)]
		index := m.AddImport(HostImport{Name: c.name, Params: c.params, Result: c.result})
		var b []byte
		switch v.of("mode" + n) {
		case nextKey:
			b = Concat(Const(I32, accountAt), Op(LocalGet, 0), Const(I64, 1), []byte{I64Add}, Op(LocalTee, 0),
				Op(I64Store, 0, 0))
		case randomKey:
			b = Concat(chance(), []byte{Drop}, Const(I32, accountAt), Op(LocalGet, 0), Op(I64Store, 0, 0))
		}
		for i, a := range c.args(int64(v.of("key"+n)), int64(min(v.of("bytes"+n), c.most))) {
			b = Concat(b, Const(c.params[i], a))
		}
		if b = Concat(b, Call(index)); c.result != 0 {
			b = append(b, Drop)
		}
		parts = append(parts, b)
	}
	return func() []byte { return Concat(parts...) }
}

func buildHost(v values) Candidate {
	m := newContract(16)
	m.Data = [][]byte{Data(keyAt, signatures()), Data(pointAt, p256Signature())}
	for _, w := range witnesses {
		m.Data = append(m.Data, Data(int32(w.account), string(w.data)))
	}
	own := m.AddImport(HostImport{Name: "self", Params: manyI32(1)})
	calls := callsOf(m, v, "1", "2", "3")
	left := m.AddImport(HostImport{Name: "gas_left", Result: I64})
	give := m.AddImport(HostImport{Name: []string{"return_data", "revert"}[v.of("end")&1], Params: manyI32(2)})
	// Local 1 counts turns.
	body := Concat(Const(I32, selfAt), Call(own), []byte{LoopOp, Empty}, bytes.Repeat(calls(), v.of("unroll")),
		Op(LocalGet, 1), Const(I64, 1), []byte{I64Add}, Op(LocalTee, 1), Const(I64, int64(v.of("turns"))),
		[]byte{0x54 /* i64.lt_u */},
		Call(left), Const(I64, reserve+int64(v.of("output"))), []byte{0x56 /* i64.gt_u */, I32And}, Op(BrIfOp, 0),
		[]byte{End})
	if v.of("end") < 2 {
		body = Concat(body, Const(I32, bulkAt), Const(I32, int64(v.of("output"))), Call(give))
	}
	m.Export("run", FunctionKind, m.AddFunction(0, manyI64(2), body...))
	return Candidate{Code: m.Encode(), Copies: 1}
}

// signatures returns a BIP-340 key and, 64 bytes after it, the key's signature of the empty message. A hash follows,
// with an ECDSA signature from which a key can be recovered: if r is the generator's x coordinate, any s gives a key.
func signatures() string {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte("signer")))
	if err != nil {
		panic(err)
	}
	signature, err := key.Sign(nil, [32]byte{})
	if err != nil {
		panic(err)
	}
	public := key.PublicKey()
	generator := "\x79\xbe\x66\x7e\xf9\xdc\xbb\xac\x55\xa0\x62\x95\xce\x87\x0b\x07" +
		"\x02\x9b\xfc\xdb\x2d\xce\x28\xd9\x59\xf2\x81\x5b\x16\xf8\x17\x98"
	s := sha256.Sum256([]byte("s"))
	s[0] &= 0x3F
	hash := sha256.Sum256(nil)
	return string(public[:]) + strings.Repeat("\x00",
		32) + string(signature[:]) + string(hash[:]) + generator + string(s[:]) + "\x00"
}
