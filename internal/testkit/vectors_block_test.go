package testkit

import (
	"crypto/sha256"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

type merkleVector struct {
	Leaves []bytesHex `json:"leaves"`
	Root   bytesHex   `json:"root"`
}

// merkleRoots has trees over the leaves of Certificate Transparency's own test vectors.
func merkleRoots() (vectors []merkleVector) {
	leaves := [][]byte{
		{}, {0x00}, {0x10}, {0x20, 0x21}, {0x30, 0x31}, {0x40, 0x41, 0x42, 0x43},
		{0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57},
		{0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f},
	}
	for n := range len(leaves) + 1 {
		root := types.NewMerkleRoot(leaves[:n])
		v := merkleVector{Leaves: []bytesHex{}, Root: root[:]}
		for _, leaf := range leaves[:n] {
			v.Leaves = append(v.Leaves, leaf)
		}
		vectors = append(vectors, v)
	}
	return vectors
}

// TestMerkleRootOfCertificateTransparency compares with the root that RFC 6962's reference implementation has for its
// eight test leaves.
func TestMerkleRootOfCertificateTransparency(t *testing.T) {
	const want = "0x5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
	vectors := merkleRoots()
	if got := types.Digest(vectors[8].Root).String(); got != want {
		t.Errorf("root %s, want %s", got, want)
	}
}

type logVector struct {
	Contract bytesHex   `json:"contract"`
	Name     string     `json:"name"`
	Topics   []bytesHex `json:"topics"`
	Data     bytesHex   `json:"data"`
}

type receiptVector struct {
	Transaction bytesHex    `json:"transaction"`
	Status      uint8       `json:"status"`
	GasUsed     uint64      `json:"gas_used"`
	Contract    *bytesHex   `json:"contract"`
	Output      bytesHex    `json:"output"`
	Logs        []logVector `json:"logs"`
	Encoded     bytesHex    `json:"encoded"`
}

func newReceiptVector(r types.Receipt) receiptVector {
	v := receiptVector{
		Transaction: r.Transaction[:],
		Status:      uint8(r.Status),
		GasUsed:     uint64(r.GasUsed),
		Output:      r.Output,
		Logs:        []logVector{},
		Encoded:     r.Encode(),
	}
	if r.Contract != nil {
		id := bytesHex(r.Contract[:])
		v.Contract = &id
	}
	for _, log := range r.Logs {
		l := logVector{Contract: log.Contract[:], Name: log.Name, Topics: []bytesHex{}, Data: log.Data}
		for _, topic := range log.Topics {
			l.Topics = append(l.Topics, topic[:])
		}
		v.Logs = append(v.Logs, l)
	}
	return v
}

// filled is 32 bytes i.
func filled(i byte) (b [32]byte) {
	for j := range b {
		b[j] = i
	}
	return b
}

// receipts has one of each shape; they are encodings only, no transaction gave them.
func receipts() (vectors []receiptVector) {
	contract := types.ContractID(filled(0xcc))
	for _, r := range []types.Receipt{
		{Transaction: filled(1), Status: types.StatusSuccess, GasUsed: 21_000},
		{Transaction: filled(2), Status: types.StatusFailed, GasUsed: 123_456, Output: []byte("insufficient balance")},
		{
			Transaction: filled(3),
			Status:      types.StatusSuccess,
			GasUsed:     5_000_000,
			Contract:    &contract,
			Output:      []byte("{}"),
			Logs: []types.Log{
				{Name: types.NativeTransfer, Topics: [][32]byte{filled(0xaa), filled(0xbb)}, Data: []byte{5, 0, 0, 0, 0, 0, 0, 0}},
				{Contract: contract, Name: "Transfer", Data: []byte(`{"amount":5}`)},
			},
		},
	} {
		vectors = append(vectors, newReceiptVector(r))
	}
	return vectors
}

type accessVector struct {
	Key bytesHex `json:"key"`
	Old bytesHex `json:"old"`
	New bytesHex `json:"new"`
}

type accessesVector struct {
	List           []accessVector `json:"list"`
	Encoded        bytesHex       `json:"encoded"`
	AccessesDigest bytesHex       `json:"accesses_digest"`
	WritesDigest   bytesHex       `json:"writes_digest"`
	EmptyDigest    bytesHex       `json:"digest_of_no_entries"`
}

func newAccessesVector(list []types.Access) accessesVector {
	empty := sha256.Sum256(make([]byte, 8))
	accesses, writes := types.DigestAccesses(list), types.DigestAccesses(types.Writes(list))
	v := accessesVector{
		List: []accessVector{}, Encoded: types.EncodeAccesses(list), AccessesDigest: accesses[:], WritesDigest: writes[:],
		EmptyDigest: empty[:],
	}
	for _, a := range list {
		v.List = append(v.List, accessVector{a.Key, a.Old, a.New})
	}
	return v
}

// accesses has a change, a read, a new key, a deletion and a key that was looked at and is absent.
func accesses() accessesVector {
	record := func(balance types.Amount) []byte { return state.Account{Balance: balance}.Encode() }
	return newAccessesVector([]types.Access{
		{Key: recordKey(1), Old: record(1), New: record(2)},
		{Key: recordKey(2), Old: record(3), New: record(3)},
		{Key: recordKey(3), New: record(4)},
		{Key: state.StorageKey(filled(9), []byte("k")), Old: []byte("v")},
		{Key: state.StorageKey(filled(9), []byte("kk"))},
	})
}
