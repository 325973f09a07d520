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

// Every encoded type refuses an extra byte, and an encoding that is cut off anywhere.
func TestWholeInput(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			decode := decoders[v.Type]
			for _, extra := range []byte{0, 1, 0xff} {
				if _, _, err := decode(append(bytes.Clone(v.encoded), extra)); !errors.Is(err, codec.ErrTrailing) {
					t.Errorf("with a byte %02x behind: error %v, want %v", extra, err, codec.ErrTrailing)
				}
			}
			for n := range v.encoded {
				if _, _, err := decode(v.encoded[:n]); !errors.Is(err, codec.ErrTruncated) {
					t.Errorf("cut to %d bytes: error %v, want %v", n, err, codec.ErrTruncated)
				}
			}
		})
	}
}

func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// Offsets of fields in the samples' encodings.
const (
	payerAt          = 2*32 + 6*8
	endAt            = payerAt + 1
	kindAt           = endAt + 1
	payloadAt        = kindAt + 4
	deployNameAt     = payloadAt
	deployCodeAt     = deployNameAt + 8 + 13
	callFunctionAt   = payloadAt
	versionAt        = payloadAt // of the parameters
	batchStepsAt     = payloadAt
	firstActionAt    = batchStepsAt + 8 + 32 + 8
	policyRecoveryAt = payloadAt
	policyAt         = policyRecoveryAt + 1
	ownerAt          = 8 // in a policy
	signersAt        = ownerAt + 1
	firstSignerAt    = signersAt + 8
	verifiedAt       = firstSignerAt + 4 + 32 + 4 + 64 + 4 + 64
	witnessPolicyAt  = 4
	proofsAt         = witnessPolicyAt + verifiedAt + 1 + 1 + 1 + 8 + 36 + 8
	firstEvidenceAt  = proofsAt + 8 + 1
	sighashAt        = firstEvidenceAt + 4 + 64 + 1 + 4 + 64
	clientAt         = sighashAt + 1 + 1 + 4 + 64 + 1 + 4 + 37
	signedWitnessAt  = 1 + payloadAt + 1 // of a signed plain transfer
	payerWitnessAt   = signedWitnessAt + 4 + 64
	sealAt           = types.HeaderBytes
	statusAt         = 0
	optionAt         = statusAt + 1 + 8
	outputAt         = optionAt + 1 + 32
	logsAt           = outputAt + 8 + 3
	logNameAt        = logsAt + 8 + 32
	logTopicsAt      = logNameAt + 8 + 8
	logDataAt        = logTopicsAt + 8 + 3*32
	transactionsAt   = types.SignedHeaderBytes
	blockKindAt      = transactionsAt + 8 + 1 + kindAt
	networkAt        = 8
	allocationsAt    = networkAt + 8 + 7 + 8 + 8 + 139
	siblingsAt       = 4 + 4 + 32
	firstAccessKeyAt = 8
)

// One corrupted field at a time, in an otherwise valid encoding.
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
		{"transfer", "variant 7", kindAt, []byte{7}, codec.ErrBadVariant},
		{"transfer", "payer's option byte 2", payerAt, []byte{2}, codec.ErrBadOption},
		{"transfer", "end's option byte 2", endAt, []byte{2}, codec.ErrBadOption},
		{"transfer", "memo's option byte 2", payloadAt, []byte{2}, codec.ErrBadOption},
		{"configure", "version 1", versionAt, []byte{1}, codec.ErrBadVariant},
		{"configure", "version 3", versionAt, []byte{3}, codec.ErrBadVariant},
		{"configure", "upgrade's option byte 2", versionAt + 138, []byte{2}, codec.ErrBadOption},
		{"batch", "no steps", batchStepsAt, []byte{0}, codec.ErrTruncated},
		{"batch", "257 steps", batchStepsAt, u64(257), codec.ErrTooLong},
		{"batch", "a deploy as a step", firstActionAt, []byte{1}, codec.ErrBadVariant},
		{"batch", "a configure as a step", firstActionAt, []byte{3}, codec.ErrBadVariant},
		{"batch", "a batch as a step", firstActionAt, []byte{4}, codec.ErrBadVariant},
		{"batch", "a policy as a step", firstActionAt, []byte{5}, codec.ErrBadVariant},
		{"batch", "an instantiate as a step", firstActionAt, []byte{6}, codec.ErrBadVariant},
		{"policy set", "recovery is 2", policyRecoveryAt, []byte{2}, codec.ErrBadBool},
		{"policy set", "policy's option byte 2", policyAt, []byte{2}, codec.ErrBadOption},
		{"policy", "17 signers", signersAt, u64(17), codec.ErrTooLong},
		{"policy", "a signer of variant 3", firstSignerAt, []byte{3}, codec.ErrBadVariant},
		{"policy", "verified is 2", verifiedAt, []byte{2}, codec.ErrBadBool},
		{"policy", "recovery's option byte 2", verifiedAt + 1, []byte{2}, codec.ErrBadOption},
		{"witness of a policy", "variant 3", 0, []byte{3}, codec.ErrBadVariant},
		{"witness of a policy", "17 proofs", proofsAt, u64(17), codec.ErrTooLong},
		{"witness of a policy", "evidence of variant 4", firstEvidenceAt, []byte{4}, codec.ErrBadVariant},
		{"witness of a policy", "sighash 2", sighashAt, []byte{2}, codec.ErrBadVariant},
		{"witness of a policy", "client of 1025 bytes", clientAt, u64(1025), codec.ErrTooLong},
		{"signed transfer", "version 1", 0, []byte{1}, codec.ErrBadVariant},
		{"signed transfer", "version 3", 0, []byte{3}, codec.ErrBadVariant},
		{"signed transfer", "witness of variant 3", signedWitnessAt, []byte{3}, codec.ErrBadVariant},
		{"signed transfer", "payer witness' option byte 2", payerWitnessAt, []byte{2}, codec.ErrBadOption},
		{"signed header", "a seal of variant 1", sealAt, []byte{1}, codec.ErrBadVariant},
		{"inclusion proof", "19 siblings", siblingsAt, u64(19), codec.ErrTooLong},
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
		{"block", "variant 7", blockKindAt, []byte{7}, codec.ErrBadVariant},
		{"block", "more transactions than a block can have", transactionsAt, u64(32<<20/151 + 1), codec.ErrTooLong},
		{"block", "more transactions than the input can have", transactionsAt, u64(32 << 20 / 151), codec.ErrTruncated},
		{"block", "a transaction less", transactionsAt, u64(6), codec.ErrTrailing},
		{"receipt", "status 2", statusAt, []byte{2}, codec.ErrBadVariant},
		{"receipt", "option byte 2", optionAt, []byte{2}, codec.ErrBadOption},
		{"receipt", "output over the limit", outputAt, u64(types.MaxArgsBytes + 1), codec.ErrTooLong},
		{"receipt", "logs over the limit", logsAt, u64(types.MaxTransactionLogs + 1), codec.ErrTooLong},
		{"receipt", "a log too many", logsAt, u64(3), codec.ErrTruncated},
		{"receipt", "log name over the limit", logNameAt, u64(types.MaxLogNameBytes + 1), codec.ErrTooLong},
		{"receipt", "log name is not UTF-8", logNameAt + 8, []byte{0x80}, codec.ErrBadUTF8},
		{"receipt", "topics over the limit", logTopicsAt, u64(types.MaxLogTopics + 1), codec.ErrTooLong},
		{"receipt", "log data over the limit", logDataAt, u64(types.MaxLogDataBytes + 1), codec.ErrTooLong},
		{"genesis", "network over the limit", networkAt, u64(8), codec.ErrTooLong},
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

// A value of the maximum length decodes; a byte or an element more does not.
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
				t.Errorf("%d: error %v", test.limit, err)
			}
			if _, _, err := test.decode(test.encode(test.limit + 1)); !errors.Is(err, codec.ErrTooLong) {
				t.Errorf("%d: got %v, want %v", test.limit+1, err, codec.ErrTooLong)
			}
		})
	}
}

// sized returns a transaction whose encoding, signed, has size bytes.
func sized(size int) types.SignedTransaction {
	empty := sampleSigned(types.Deploy{})
	return sampleSigned(types.Deploy{Code: make([]byte, size-len(empty.Encode()))})
}

func TestTransactionSizeLimit(t *testing.T) {
	largest, tooLarge := sized(512<<10), sized(512<<10+1)
	if len(largest.Encode()) != types.MaxTransactionBytes {
		t.Fatalf("the sample has %d bytes, want %d", len(largest.Encode()), types.MaxTransactionBytes)
	}
	if _, err := types.DecodeSignedTransaction(largest.Encode()); err != nil {
		t.Error(err)
	}
	if _, err := types.DecodeSignedTransaction(tooLarge.Encode()); !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("a transaction of a byte too many: error %v, want %v", err, codec.ErrTooLong)
	}
	if _, err := types.DecodeUnsigned(make([]byte, 512<<10+1)); !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("an unsigned transaction of a byte too many: error %v, want %v", err, codec.ErrTooLong)
	}
	if _, err := types.DecodeBlock(sampleBlock(largest).Encode()); err != nil {
		t.Error(err)
	}
	if _, err := types.DecodeBlock(sampleBlock(tooLarge).Encode()); !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("in a block: error %v, want %v", err, codec.ErrTooLong)
	}
}

func TestBlockSizeLimit(t *testing.T) {
	full := slices.Repeat([]types.SignedTransaction{sized(512 << 10)}, 64)
	smallest := sampleSigned(types.Transfer{})
	smallest.Witness = types.WitnessPolicy{} // not valid, but it decodes
	mostTransactions := slices.Repeat([]types.SignedTransaction{smallest}, 32<<20/len(smallest.Encode()))
	for _, transactions := range [][]types.SignedTransaction{full, mostTransactions} {
		b := sampleBlock(transactions...).Encode()
		block, err := types.DecodeBlock(b)
		if err != nil || len(block.Transactions) != len(transactions) {
			t.Errorf("a full block of %d transactions: error %v", len(transactions), err)
		}
		over := append(slices.Clone(transactions), smallest)
		if _, err := types.DecodeBlock(sampleBlock(over...).Encode()); !errors.Is(err, codec.ErrTooLong) {
			t.Errorf("a block over the limit: error %v", err)
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
