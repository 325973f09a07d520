package cluster

import (
	"bytes"
	"errors"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

// logOf returns entries of batches; an entry without transactions is not a batch.
func logOf(batches ...[]*types.Tx) []logEntry {
	var log []logEntry
	for _, txs := range batches {
		e := &raftpb.Entry{Data: Encode(TxBatch{Transactions: txs})}
		if txs == nil {
			e.Data = nil
		}
		log = append(log, logEntry{entry: e})
	}
	return log
}

func TestBlocksNameWhatTheLogHas(t *testing.T) {
	var txs []*types.Tx
	for nonce := range uint64(5) {
		txs = append(txs, payment(t, nonce))
	}
	header := types.Header{Version: params.Version, Height: 3, Producer: testchain.Key("producer").PublicKey()}
	want := types.EncodeBlock(types.SignedHeader{Header: header}, txs)
	for name, c := range map[string]struct {
		log   []logEntry
		named int
	}{
		"no log":                       {nil, 0},
		"a log of other things":        {logOf(nil, []*types.Tx{payment(t, 7)}), 0},
		"all of one batch":             {logOf(txs), 5},
		"some of two, in other orders": {logOf(nil, []*types.Tx{txs[4], payment(t, 8)}, nil, []*types.Tx{txs[2], txs[0]}), 3},
	} {
		b := newBlock(header, txs, 40, c.log)
		if whole := b.Encoded != nil; whole != (c.named == 0) || whole == (b.Names != nil) {
			t.Errorf("%s: whole is %t with %d names", name, whole, c.named)
		}
		decoded, err := Decode(Encode(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		txs, err := decoded.(Block).transactions(c.log)
		got := types.EncodeBlock(types.SignedHeader{Header: header}, txs)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, %v; want %x", name, got, err, want)
		}
		if size := len(Encode(b)); c.named == 5 && size != 1+types.SignedHeaderBytes+8+8+5*8 {
			t.Errorf("%s: an entry of %d bytes", name, size)
		}
	}
}

// An ID does not cover the witnesses, so a block must name the bytes.
func TestBlocksNameNoOtherWitnesses(t *testing.T) {
	tx := payment(t, 0)
	signed, err := types.Sign(tx.Signed().Transaction, testchain.Key("alice"), [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	other := types.NewTxs(signed)[0]
	if other.ID() != tx.ID() || bytes.Equal(other.Encoded(), tx.Encoded()) {
		t.Fatal("the other is not the same with another signature")
	}
	if b := newBlock(types.Header{}, []*types.Tx{tx}, 0, logOf([]*types.Tx{other})); b.Names != nil {
		t.Errorf("got names %x, want none", b.Names)
	}
}

func TestNamesAreRefused(t *testing.T) {
	log := logOf([]*types.Tx{payment(t, 0)}, nil)
	names := func(count uint64, rest ...uint32) []byte {
		e := codec.NewEncoder(64)
		e.U64(count)
		for _, n := range rest {
			e.U32(n)
		}
		return e.Data()
	}
	for name, c := range map[string][]byte{
		"nothing":                {},
		"a transaction too few":  names(2, 1, 0),
		"a transaction too many": names(1, 1, 0, 1, 0),
		"a place too far":        names(1, 1, 1),
		"an entry of no batch":   names(1, 2, 0),
		"an entry too far":       names(1, 3, 0),
		"the largest numbers":    names(1, 1<<32-1, 1<<32-1),
	} {
		if got, err := (Block{Names: c}).transactions(log); !errors.Is(err, ErrEntry) {
			t.Errorf("%s: got %v, %v; want ErrEntry", name, got, err)
		}
	}
	large := types.NewTx(types.SignedTransaction{
		Transaction: types.Transaction{Payload: types.Deploy{Code: make([]byte, types.MaxTransactionBytes/2)}},
		Witness:     types.WitnessKey{},
	})
	long := names(0)
	count := types.MaxBlockBytes/len(large.Encoded()) + 1
	for range count {
		long = append(long, names(0, 1, 0)[8:]...)
	}
	copy(long, names(uint64(count)))
	_, err := (Block{Names: long}).transactions([]logEntry{{txs: []*types.Tx{large}}})
	if !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("a block that is too long: got %v, want %v", err, codec.ErrTooLong)
	}
}
