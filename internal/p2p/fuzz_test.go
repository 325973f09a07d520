package p2p

import (
	"bytes"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/types"
)

// Whatever decodes encodes to bytes that decode to the same, and a decoder fails only with an error.
func FuzzFrames(f *testing.F) {
	f.Add(appendFrame(nil, frameHello, testHello().encode()))
	f.Add(appendFrame(nil, frameTake, encodeTake([][]byte{{1, 2}, {}})))
	f.Add(appendFrame(nil, frameTaken, Taken{0, 9, []Result{{1, "m", []byte("{}")}}}.encode()))
	f.Add(appendFrame(nil, frameBlocks, heights{3, 9}.encode()))
	f.Add(appendFrame(nil, frameBlocksOf, encodeBlocks([][]byte{{1}, {2, 3}})))
	f.Add(appendFrame(nil, frameLease, encodeNumber(7)))
	f.Add(appendFrame(nil, frameGranted, encodeGranted(true)))
	f.Add(appendFrame(nil, frameReportOf, Report{Wall: 1, Program: "p"}.encode()))
	f.Add(appendFrame(nil, frameFailed, encodeFailed("reason")))
	f.Add(appendFrame(nil, frameProof, encodeProofs([]types.Height{3, 9})))
	_ = proof{3, []byte{1}}.parts(func(b []byte) error { f.Add(appendFrame(nil, frameProofPart, b)); return nil })
	page := pool{
		Applied: 2, Head: cluster.Head{Height: 1}, Transactions: []cluster.PendingTransaction{{Time: 4, Encoded: []byte{5}}},
	}
	_ = page.pages(func(b []byte) error { f.Add(appendFrame(nil, framePage, b)); return nil })
	f.Fuzz(func(t *testing.T, data []byte) {
		k, body, err := readFrame(bytes.NewReader(data), MaxFrame)
		if err != nil {
			return
		}
		again, err := recode(k, body)
		if err == nil && again != nil && !bytes.Equal(again, body) {
			t.Fatalf("%x of kind %d decodes to what is encoded as %x", body, k, again)
		}
	})
}

// recode decodes a body and encodes the result.
func recode(k kind, body []byte) ([]byte, error) {
	switch k {
	case frameHello:
		h, err := decodeHello(body)
		if h.Version != version {
			return nil, err
		}
		return h.encode(), err
	case frameMessage:
		_, err := decodeMessage(k, body, order, 1, 2)
		return nil, err
	case frameTake:
		list, err := decodeTake(body)
		return encodeTake(list), err
	case frameTaken:
		taken, err := decodeTaken(body)
		return taken.encode(), err
	case frameBlocks:
		h, err := decodeHeights(body)
		return h.encode(), err
	case frameBlocksOf:
		blocks, err := decodeBlocks(body)
		return encodeBlocks(blocks), err
	case framePage:
		var p pool
		more, err := p.add(body)
		if err != nil || more {
			return nil, err // of several pages, each is smaller than the last alone would be
		}
		var again []byte
		err = p.pages(func(page []byte) error { again = page; return nil })
		return again, err
	case frameLease:
		n, err := decodeNumber(body)
		return encodeNumber(n), err
	case frameGranted:
		granted, err := decodeGranted(body)
		return encodeGranted(granted), err
	case frameProof:
		of, err := decodeProofs(body)
		return encodeProofs(of), err
	case frameProofPart:
		var p proof
		more, err := p.add(body)
		if err != nil || more {
			return nil, err // only the last part is encoded exactly as it came
		}
		var again []byte
		err = p.parts(func(part []byte) error { again = part; return nil })
		return again, err
	case frameReportOf:
		r, err := decodeReport(body)
		return r.encode(), err
	case frameFailed:
		reason, err := decodeFailed(body)
		return encodeFailed(reason), err
	}
	return nil, nil
}
