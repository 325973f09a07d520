package api

import (
	"bytes"
	"encoding/hex"
	"strconv"

	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Pages of payments are encoded and decoded by hand, since a program that follows a full chain gets tens of thousands of
// payments a second.

// AppendJSON implements [jsonrpc.Appender].
func (p *PaymentPage) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"payments":`...)
	switch {
	case p.Payments == nil:
		dst = append(dst, "null"...)
	default:
		dst = append(dst, '[')
		for i := range p.Payments {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = p.Payments[i].appendJSON(dst)
		}
		dst = append(dst, ']')
	}
	dst = jsonrpc.AppendString(append(dst, `,"resume":`...), p.Resume)
	dst = strconv.AppendUint(append(dst, `,"height":`...), uint64(p.Height), 10)
	return append(strconv.AppendBool(append(dst, `,"complete":`...), p.Complete), '}')
}

func (p *Payment) appendJSON(dst []byte) []byte {
	dst = jsonrpc.AppendString(append(dst, `{"cursor":`...), p.Cursor)
	dst = strconv.AppendUint(append(dst, `,"block_height":`...), uint64(p.BlockHeight), 10)
	dst = hex.AppendEncode(append(dst, `,"block_hash":"0x`...), p.BlockHash[:])
	dst = strconv.AppendUint(append(dst, `","timestamp":`...), p.Timestamp, 10)
	dst = hex.AppendEncode(append(dst, `,"tx_hash":"0x`...), p.TransactionHash[:])
	dst = strconv.AppendUint(append(dst, `","transaction_index":`...), uint64(p.TransactionIndex), 10)
	dst = append(dst, `,"log":`...)
	if p.Log == nil {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendUint(dst, uint64(*p.Log), 10)
	}
	dst = jsonrpc.AppendString(append(dst, `,"kind":`...), string(p.Kind))
	dst = hex.AppendEncode(append(dst, `,"from":"0x`...), p.From[:])
	dst = hex.AppendEncode(append(dst, `","to":"0x`...), p.To[:])
	dst = p.Amount.AppendJSON(append(dst, `","amount":`...))
	dst = append(dst, `,"memo":`...)
	if p.Memo == nil {
		dst = append(dst, "null"...)
	} else {
		dst = p.Memo.AppendJSON(dst)
	}
	return append(dst, '}')
}

// ParseJSON implements [jsonrpc.Parser].
func (p *PaymentPage) ParseJSON(text []byte) bool {
	r := exactReader{text: text}
	var page PaymentPage
	r.skip(`{"payments":[`)
	page.Payments = make([]Payment, 0, len(text)/leastPayment)
	for !r.failed && !r.has(`]`) {
		if len(page.Payments) > 0 {
			r.skip(`,`)
		}
		page.Payments = append(page.Payments, Payment{})
		page.Payments[len(page.Payments)-1].parse(&r)
	}
	r.skip(`,"resume":"`)
	page.Resume = string(r.quoted())
	r.skip(`,"height":`)
	page.Height = types.Height(r.number())
	r.skip(`,"complete":`)
	if page.Complete = r.has("true"); !page.Complete {
		r.skip("false")
	}
	r.skip("}")
	if r.failed || len(r.text) > 0 {
		return false
	}
	*p = page
	return true
}

// leastPayment is less than the bytes of a payment in JSON.
const leastPayment = 400

func (p *Payment) parse(r *exactReader) {
	r.skip(`{"cursor":"`)
	p.Cursor = string(r.quoted())
	r.skip(`,"block_height":`)
	p.BlockHeight = types.Height(r.number())
	r.skip(`,"block_hash":"`)
	r.bytes32((*[32]byte)(&p.BlockHash))
	r.skip(`,"timestamp":`)
	p.Timestamp = r.number()
	r.skip(`,"tx_hash":"`)
	r.bytes32((*[32]byte)(&p.TransactionHash))
	r.skip(`,"transaction_index":`)
	p.TransactionIndex = r.number32()
	r.skip(`,"log":`)
	if !r.has("null") {
		p.Log = new(r.number32())
	}
	r.skip(`,"kind":"`)
	p.Kind = kindOf(r.quoted())
	r.skip(`,"from":"`)
	r.bytes32((*[32]byte)(&p.From))
	r.skip(`,"to":"`)
	r.bytes32((*[32]byte)(&p.To))
	r.skip(`,"amount":"`)
	r.failed = r.failed || p.Amount.UnmarshalText(r.quoted()) != nil
	r.skip(`,"memo":`)
	if !r.has("null") {
		r.skip(`"`)
		p.Memo = new(Data)
		r.failed = r.failed || p.Memo.UnmarshalText(r.quoted()) != nil
	}
	r.skip("}")
}

// kindOf returns the kind of that name, without a copy of it if it is declared.
func kindOf(name []byte) PaymentKind {
	if string(name) == string(PaymentTransfer) {
		return PaymentTransfer
	}
	return PaymentKind(name)
}

// exactReader reads JSON in one form only. It fails at any other.
type exactReader struct {
	text   []byte // what is left
	failed bool
}

// has skips a literal if it comes next, and reports whether it did.
func (r *exactReader) has(literal string) bool {
	if len(r.text) < len(literal) || string(r.text[:len(literal)]) != literal {
		return false
	}
	r.text = r.text[len(literal):]
	return true
}

func (r *exactReader) skip(literal string) { r.failed = !r.has(literal) || r.failed }

// quoted reads up to a closing quote. It fails if a character is escaped or is no ASCII: then encoding/json knows how
// to read it.
func (r *exactReader) quoted() []byte {
	end := bytes.IndexByte(r.text, '"')
	if end < 0 {
		r.failed = true
		return nil
	}
	text := r.text[:end]
	for _, c := range text {
		if c < ' ' || c == '\\' || c >= 0x80 {
			r.failed = true
			return nil
		}
	}
	r.text = r.text[end+1:]
	return text
}

// number reads an integer of 64 bits.
func (r *exactReader) number() (n uint64) {
	digits := 0
	for digits < len(r.text) && '0' <= r.text[digits] && r.text[digits] <= '9' {
		digits++
	}
	n, err := strconv.ParseUint(string(r.text[:digits]), 10, 64)
	r.failed = r.failed || err != nil || digits > 1 && r.text[0] == '0'
	r.text = r.text[digits:]
	return n
}

func (r *exactReader) number32() uint32 {
	n := r.number()
	r.failed = r.failed || n != uint64(uint32(n))
	return uint32(n)
}

// bytes32 reads 0x, 64 hex digits and the closing quote.
func (r *exactReader) bytes32(into *[32]byte) {
	const digits = 2 * len(into)
	if r.skip("0x"); r.failed || len(r.text) <= digits || r.text[digits] != '"' {
		r.failed = true
		return
	}
	_, err := hex.Decode(into[:], r.text[:digits])
	r.failed = err != nil
	r.text = r.text[digits+1:]
}
