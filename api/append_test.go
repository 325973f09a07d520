package api

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// A value that encodes itself gives the same JSON as encoding/json.
func TestAppendedJSON(t *testing.T) {
	for _, v := range []jsonrpc.Appender{
		Quantity(0), Quantity(1), Quantity(0xabcdef), Quantity(math.MaxUint64), Data(nil), Data{}, Data{0},
		Data{0xab, 0xcd, 0xef},
		&PaymentPage{}, &PaymentPage{Payments: []Payment{}, Resume: "a\"\u2028é", Height: 7, Complete: true},
		&fullPage, &BlockItem{}, &BlockItem{Raw: Data{1, 2}}, &BlockItem{Block: &Block{Height: 3}, Raw: Data{}},
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(v.AppendJSON([]byte("x"))); got != "x"+string(want) {
			t.Errorf("%#v: got %s, want %s", v, got, want)
		}
	}
}

var fullPage = PaymentPage{Resume: "00ff", Height: math.MaxUint64, Payments: []Payment{
	{Cursor: "0a0b", Kind: PaymentTransfer, Amount: 1},
	{
		Cursor: "0c", BlockHeight: 1, BlockHash: types.BlockHash{2}, Timestamp: 3, TransactionHash: types.TxID{4},
		TransactionIndex: 5, Log: new(uint32(6)), Kind: PaymentContract, From: types.Account{7}, To: types.Account{31: 8},
		Amount: math.MaxUint64, Memo: new(Data{9}),
	},
}}

// Types with a parser of their own parse exactly their own output, and otherwise agree with encoding/json.
func TestParsedJSON(t *testing.T) {
	for _, page := range []PaymentPage{{Payments: []Payment{}}, fullPage} {
		text := page.AppendJSON(nil)
		var got PaymentPage
		if !got.ParseJSON(text) || !reflect.DeepEqual(got, page) {
			t.Errorf("%s: got %+v", text, got)
		}
	}
	text := fullPage.AppendJSON(nil)
	for i := range text {
		for _, c := range []byte("0\"\\ ,}x\x00\xff") {
			changed := bytes.Clone(text)
			changed[i] = c
			parsesAlike(t, changed)
		}
		parsesAlike(t, text[:i])
		parsesAlike(t, slices.Concat(text[:i], []byte{'0'}, text[i:]))
	}
}

// parsesAlike checks that ParseJSON agrees with encoding/json on texts that it accepts, and changes nothing on others.
func parsesAlike(t *testing.T, text []byte) {
	t.Helper()
	var got, want PaymentPage
	switch err := json.Unmarshal(text, &want); {
	case !got.ParseJSON(text):
		if !reflect.DeepEqual(got, PaymentPage{}) {
			t.Errorf("%s: refused, but changed to %+v", text, got)
		}
	case err != nil || !reflect.DeepEqual(got, want):
		t.Errorf("%s: got %+v, want %+v, %v", text, got, want, err)
	}
}

func FuzzParsePaymentPage(f *testing.F) {
	f.Add(fullPage.AppendJSON(nil))
	f.Fuzz(parsesAlike)
}

func BenchmarkPaymentPage(b *testing.B) {
	page := PaymentPage{Payments: make([]Payment, MaxPayments)}
	for i := range page.Payments {
		page.Payments[i] = fullPage.Payments[0]
		page.Payments[i].Cursor = "0000000000000029000000010000000012345678"
	}
	text := page.AppendJSON(nil)
	for name, run := range map[string]func(){
		"append": func() { text = page.AppendJSON(text[:0]) },
		"parse":  func() { page.ParseJSON(text) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MaxPayments, "ns/payment")
		})
	}
}

// A block is written in pieces of a bounded size, which together are the JSON of encoding/json.
func TestBlocksAreWrittenInPieces(t *testing.T) {
	const longest = 128 << 10
	for _, count := range []int{0, 1, hashesAtOnce, hashesAtOnce + 1, 100_000} {
		block := &Block{Height: 3, Transactions: BlockTransactions{Hashes: make([]types.TxID, count)}}
		for i := range block.Transactions.Hashes {
			block.Transactions.Hashes[i][i%32] = byte(i)
		}
		rest := bytes.Repeat([]byte{0xab}, 1<<20)
		for _, v := range []jsonrpc.Streamer{
			block,
			&BlockItem{Block: block, Raw: Data{1}},
			&BlockItem{Block: block, Raw: rest[:1], Rest: func(yield func([]byte, error) bool) { yield(rest[1:], nil) }},
		} {
			whole := v
			if item, is := v.(*BlockItem); is && item.Rest != nil {
				whole = &BlockItem{Block: block, Raw: rest}
			}
			want, err := json.Marshal(whole)
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			err = v.WriteJSON(func(piece []byte) error {
				if len(piece) > longest {
					t.Errorf("%d hashes: a piece of %d bytes, want at most %d", count, len(piece), longest)
				}
				got = append(got, piece...)
				return nil
			})
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d hashes in %T: %v, got %d bytes, want the %d of encoding/json", count, v, err, len(got), len(want))
			}
		}
	}
}
