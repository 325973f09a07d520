package types_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// Every encoded type refuses a byte too many and a byte too few, wherever it is cut.
func TestWholeInput(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			decode := decoders[v.Type]
			for _, extra := range []byte{0, 1, 0xff} {
				if _, _, err := decode(append(bytes.Clone(v.encoded), extra)); !errors.Is(err, codec.ErrTrailing) {
					t.Errorf("with a byte %02x behind: %v", extra, err)
				}
			}
			for n := range v.encoded {
				if _, _, err := decode(v.encoded[:n]); !errors.Is(err, codec.ErrTruncated) {
					t.Errorf("cut to %d bytes: %v", n, err)
				}
			}
		})
	}
}

func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// Offsets of fields in the samples' encodings.
const (
	kindAt           = 1 + 8 + 32 + 4*8
	payloadAt        = kindAt + 4
	deployNameAt     = payloadAt + 8
	deployCodeAt     = deployNameAt + 8 + 13
	callFunctionAt   = payloadAt + 8 + 32
	statusAt         = 32
	optionAt         = statusAt + 1 + 8
	outputAt         = optionAt + 1 + 32
	logsAt           = outputAt + 8 + 3
	logNameAt        = logsAt + 8 + 32
	logTopicsAt      = logNameAt + 8 + 8
	logDataAt        = logTopicsAt + 8 + 3*32
	transactionsAt   = types.SignedHeaderBytes
	blockKindAt      = transactionsAt + 8 + kindAt
	networkAt        = 8
	allocationsAt    = networkAt + 8 + 7 + 8 + 8 + 94
	firstAccessKeyAt = 8
)

// One corrupted field at a time, in an encoding that is good otherwise.
func TestCorruptedFields(t *testing.T) {
	encoded := map[string]vector{}
	for _, v := range vectors(t) {
		encoded[v.Name] = v
	}
	tests := []struct {
		sample string
		rule   string
		at     int
		with   []byte
		want   error
	}{
		{"transfer", "variant 4", kindAt, []byte{4}, codec.ErrBadVariant},
		{"transfer", "variant 256", kindAt, []byte{0, 1}, codec.ErrBadVariant},
		{"transfer", "variant of another payload", kindAt, []byte{2}, codec.ErrTruncated},
		{"deploy", "name is not UTF-8", deployNameAt + 8, []byte{0xff}, codec.ErrBadUTF8},
		{"deploy", "name's last character is cut", deployNameAt, []byte{12}, codec.ErrBadUTF8},
		{"deploy", "name over the limit", deployNameAt, u64(types.MaxTransactionBytes + 1), codec.ErrTooLong},
		{"deploy", "code over the limit", deployCodeAt, u64(types.MaxTransactionBytes + 1), codec.ErrTooLong},
		{"deploy", "code over the input", deployCodeAt, u64(types.MaxTransactionBytes), codec.ErrTruncated},
		{"deploy", "code of 2^64 − 1 bytes", deployCodeAt, u64(math.MaxUint64), codec.ErrTooLong},
		{"call", "function is not UTF-8", callFunctionAt + 8, []byte{0xc0, 0x80}, codec.ErrBadUTF8},
		{"call", "function over the limit", callFunctionAt, u64(1 << 63), codec.ErrTooLong},
		{"block", "variant 4", blockKindAt, []byte{4}, codec.ErrBadVariant},
		{"block", "more transactions than a block can have", transactionsAt, u64(8<<20/173 + 1), codec.ErrTooLong},
		{"block", "more transactions than the input can have", transactionsAt, u64(8 << 20 / 173), codec.ErrTruncated},
		{"block", "a transaction less", transactionsAt, u64(3), codec.ErrTrailing},
		{"receipt", "status 2", statusAt, []byte{2}, codec.ErrBadVariant},
		{"receipt", "option byte 2", optionAt, []byte{2}, codec.ErrBadOption},
		{"receipt", "output over the limit", outputAt, u64(types.MaxArgsBytes + 1), codec.ErrTooLong},
		{"receipt", "logs over the limit", logsAt, u64(types.MaxTransactionLogs + 1), codec.ErrTooLong},
		{"receipt", "a log too many", logsAt, u64(3), codec.ErrTruncated},
		{"receipt", "log name over the limit", logNameAt, u64(types.MaxLogNameBytes + 1), codec.ErrTooLong},
		{"receipt", "log name is not UTF-8", logNameAt + 8, []byte{0x80}, codec.ErrBadUTF8},
		{"receipt", "topics over the limit", logTopicsAt, u64(types.MaxLogTopics + 1), codec.ErrTooLong},
		{"receipt", "log data over the limit", logDataAt, u64(types.MaxLogDataBytes + 1), codec.ErrTooLong},
		{"genesis", "network over the limit", networkAt, u64(17), codec.ErrTooLong},
		{"genesis", "network is not UTF-8", networkAt + 8, []byte{0xff}, codec.ErrBadUTF8},
		{"genesis", "allocations over the limit", allocationsAt, u64(1<<24 + 1), codec.ErrTooLong},
		{"genesis", "allocations over the input", allocationsAt, u64(1 << 24), codec.ErrTruncated},
		{"accesses", "accesses over the limit", 0, u64(1<<24 + 1), codec.ErrTooLong},
		{"accesses", "accesses over the input", 0, u64(1 << 24), codec.ErrTruncated},
		{"accesses", "key over the limit", firstAccessKeyAt, u64(290), codec.ErrTooLong},
		{"accesses", "value over the limit", firstAccessKeyAt + 8 + 2, u64(types.MaxStorageValueBytes + 1), codec.ErrTooLong},
	}
	for _, test := range tests {
		t.Run(test.sample+": "+test.rule, func(t *testing.T) {
			v := encoded[test.sample]
			b := bytes.Clone(v.encoded)
			if n := copy(b[test.at:], test.with); n < len(test.with) || bytes.Equal(b, v.encoded) {
				t.Fatal("nothing was corrupted")
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := decoders[v.Type](b)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
				t.Errorf("%d bytes were allocated for an input of %d", used, len(b))
			}
		})
	}
}

// What is as long as its limit decodes; a byte or an element more does not.
func TestReceiptLimits(t *testing.T) {
	with := func(change func(r *types.Receipt, n int)) func(n int) []byte {
		return func(n int) []byte {
			r := sampleReceipt()
			change(&r, n)
			return r.Encode()
		}
	}
	receipt, accesses := decoders["Receipt"], decoders["Vec<Access>"]
	access := func(change func(a *types.Access, n int)) func(n int) []byte {
		return func(n int) []byte {
			a := types.Access{Key: []byte{1}}
			change(&a, n)
			return types.EncodeAccesses([]types.Access{a})
		}
	}
	tests := []struct {
		name   string
		limit  int
		encode func(n int) []byte
		decode func([]byte) (any, []byte, error)
	}{
		{"output", 64 << 10, with(func(r *types.Receipt, n int) { r.Output = make([]byte, n) }), receipt},
		{"logs", 1024, with(func(r *types.Receipt, n int) { r.Logs = make([]types.Log, n) }), receipt},
		{"log name", 64, with(func(r *types.Receipt, n int) { r.Logs[0].Name = strings.Repeat("n", n) }), receipt},
		{"log topics", 3, with(func(r *types.Receipt, n int) { r.Logs[0].Topics = make([][32]byte, n) }), receipt},
		{"log data", 16 << 10, with(func(r *types.Receipt, n int) { r.Logs[0].Data = make([]byte, n) }), receipt},
		{"key", 1 + 32 + 256, access(func(a *types.Access, n int) { a.Key = make([]byte, n) }), accesses},
		{"old value", 16 << 10, access(func(a *types.Access, n int) { a.Old = make([]byte, n) }), accesses},
		{"new value", 16 << 10, access(func(a *types.Access, n int) { a.New = make([]byte, n) }), accesses},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := test.encode(test.limit)
			if _, again, err := test.decode(b); err != nil || !bytes.Equal(again, b) {
				t.Errorf("%d: %v", test.limit, err)
			}
			if _, _, err := test.decode(test.encode(test.limit + 1)); !errors.Is(err, codec.ErrTooLong) {
				t.Errorf("%d: got %v", test.limit+1, err)
			}
		})
	}
}

// sized is a transaction whose encoding, signed, has size bytes.
func sized(size int) types.SignedTransaction {
	empty := sampleSigned(types.Deploy{})
	return sampleSigned(types.Deploy{Code: make([]byte, size-len(empty.Encode()))})
}

func TestTransactionSizeLimit(t *testing.T) {
	largest, tooLarge := sized(512<<10), sized(512<<10+1)
	if len(largest.Encode()) != types.MaxTransactionBytes {
		t.Fatalf("the sample has %d bytes", len(largest.Encode()))
	}
	if _, err := types.DecodeSignedTransaction(largest.Encode()); err != nil {
		t.Error(err)
	}
	if _, err := types.DecodeSignedTransaction(tooLarge.Encode()); !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("a transaction of a byte too many: %v", err)
	}
	if _, err := types.DecodeTransaction(make([]byte, 512<<10+1)); !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("an unsigned transaction of a byte too many: %v", err)
	}
	if _, err := types.DecodeBlock(sampleBlock(largest).Encode()); err != nil {
		t.Error(err)
	}
	if _, err := types.DecodeBlock(sampleBlock(tooLarge).Encode()); !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("in a block: %v", err)
	}
}

func TestBlockSizeLimit(t *testing.T) {
	full := slices.Repeat([]types.SignedTransaction{sized(512 << 10)}, 16)
	smallest := sampleSigned(types.Deploy{})
	mostTransactions := slices.Repeat([]types.SignedTransaction{smallest}, 8<<20/len(smallest.Encode()))
	for _, transactions := range [][]types.SignedTransaction{full, mostTransactions} {
		b := sampleBlock(transactions...).Encode()
		block, err := types.DecodeBlock(b)
		if err != nil || len(block.Transactions) != len(transactions) {
			t.Errorf("a full block of %d transactions: %v", len(transactions), err)
		}
		over := append(slices.Clone(transactions), smallest)
		if _, err := types.DecodeBlock(sampleBlock(over...).Encode()); !errors.Is(err, codec.ErrTooLong) {
			t.Errorf("a block over the limit: %v", err)
		}
	}
}

func TestAccessesAscend(t *testing.T) {
	key := func(keys ...string) (accesses []types.Access) {
		for _, k := range keys {
			accesses = append(accesses, types.Access{Key: []byte(k)})
		}
		return accesses
	}
	tests := []struct {
		keys []string
		ok   bool
	}{
		{[]string{""}, true},
		{[]string{"", "a", "aa", "b"}, true},
		{[]string{"a", "a"}, false},
		{[]string{"", ""}, false},
		{[]string{"b", "a"}, false},
		{[]string{"aa", "a"}, false},
		{[]string{"a", "c", "b"}, false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.keys), func(t *testing.T) {
			got, err := types.DecodeAccesses(types.EncodeAccesses(key(test.keys...)))
			if (err == nil) != test.ok {
				t.Errorf("got %v", err)
			}
			if test.ok && len(got) != len(test.keys) {
				t.Errorf("%d accesses of %d", len(got), len(test.keys))
			}
		})
	}
}
