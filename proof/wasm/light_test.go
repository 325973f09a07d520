package main_test

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// following has headers for a follower. The first header is trusted.
type following struct {
	Header    string        `json:"header"`
	Hash      string        `json:"hash"`
	EachProof bool          `json:"eachProof"`
	Override  *overrideCase `json:"override"`
	Steps     []headerStep  `json:"steps"`
}

type overrideCase struct {
	Height     types.Height `json:"height"`
	Parameters string       `json:"parameters"`
}

// headerStep is a header with a proof of the parameters before it, and the expected refusal: "refused" for an error
// without a name, empty if the header is accepted.
type headerStep struct {
	Header     string `json:"header"`
	Parameters any    `json:"parameters"`
	Refused    string `json:"refused"`
}

// inclusionCase is an answer of svc_getInclusionProof, with the verifier's result or nil for a refusal.
type inclusionCase struct {
	Answer map[string]any `json:"answer"`
	Said   any            `json:"said,omitempty"`
}

func prefixed(b []byte) string { return "0x" + hex.EncodeToString(b) }

func unprefixed(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type vectorBlock struct {
	Header       string `json:"header_encoded"`
	Seal         string
	Transactions []struct {
		Signed  string
		Receipt string `json:"receipt_encoded"`
	}
	State [][2]string
}

func (b *vectorBlock) header(t *testing.T) types.SignedHeader {
	t.Helper()
	h, err := types.DecodeSignedHeader(unprefixed(t, b.Header+b.Seal))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// parameters returns the proof of the parameters after a block, as nodes return it.
func (b *vectorBlock) parameters(t *testing.T) map[string]any {
	t.Helper()
	var accesses []types.Access
	var value []byte
	for _, pair := range b.State {
		a := types.Access{Key: unprefixed(t, pair[0]), New: unprefixed(t, pair[1])}
		accesses = append(accesses, a)
		if string(a.Key) == string(state.ParametersKey()) {
			value = a.New
		}
	}
	var whole tree.Tree
	change, err := whole.Prepare(accesses, lists.InOrder)
	if err != nil {
		t.Fatal(err)
	}
	whole.Commit(change, lists.InOrder)
	p, err := whole.Prove(state.ParametersKey(), func(poseidon.Digest) (d poseidon.Digest, err error) { return d, nil })
	if err != nil {
		t.Fatal(err)
	}
	siblings := []string{}
	for i := range p.Siblings {
		sibling := p.Siblings[i].Bytes()
		siblings = append(siblings, prefixed(sibling[:]))
	}
	return map[string]any{
		"key": prefixed(state.ParametersKey()), "value": prefixed(value), "siblings": siblings,
		"end": map[string]any{"type": "leaf"},
	}
}

func readChains(t *testing.T) (chain, changing []vectorBlock) {
	t.Helper()
	var v struct {
		Chain, Changing struct{ Blocks []vectorBlock }
	}
	content, err := os.ReadFile("../../docs/vectors.json")
	if err == nil {
		err = json.Unmarshal(content, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v.Chain.Blocks, v.Changing.Blocks
}

// followCases follow a chain whose producer changes.
func followCases(t *testing.T) (all []testCase) {
	t.Helper()
	_, blocks := readChains(t)
	encoded := func(i int) string { return prefixed(blocks[i].header(t).Encode()) }
	hash := blocks[0].header(t).Header.Hash().String()
	add := func(name string, f following) {
		f.Header = encoded(0)
		if f.Hash == "" {
			f.Hash = hash
		}
		all = append(all, testCase{Name: "following: " + name, Follow: &f})
	}
	var needed, each []headerStep
	for i := 1; i < len(blocks); i++ {
		taken := headerStep{Header: encoded(i)}
		proven := headerStep{Header: encoded(i), Parameters: blocks[i-1].parameters(t)}
		if blocks[i].header(t).Header.Producer != blocks[i-1].header(t).Header.Producer {
			needed = append(needed, headerStep{Header: encoded(i), Refused: "parametersNeeded"}, proven)
		} else {
			needed = append(needed, taken)
		}
		other := blocks[i].header(t)
		other.Seal.Signature[0] ^= 1
		each = append(each, headerStep{Header: encoded(i), Refused: "parametersNeeded"},
			headerStep{Header: prefixed(other.Encode()), Parameters: proven.Parameters, Refused: "refused"}, proven)
	}
	add("with a proof where it is needed", following{Steps: needed})
	add("with a proof of each", following{Steps: each, EachProof: true})
	wrong := blocks[0].parameters(t)
	wrong["value"] = blocks[1].parameters(t)["value"]
	absent := maps.Clone(wrong)
	absent["value"], absent["end"] = nil, map[string]any{"type": "empty"}
	other := maps.Clone(wrong)
	other["end"] = map[string]any{"type": "other", "path": prefixed(make([]byte, 32)), "valueHash": prefixed(make([]byte, 32))}
	add("with false proofs", following{Steps: []headerStep{
		{Header: encoded(1), Parameters: wrong, Refused: "refused"},
		{Header: encoded(1), Parameters: absent, Refused: "refused"},
		{Header: encoded(1), Parameters: other, Refused: "refused"},
		{Header: "0x", Refused: "refused"},
		{Header: encoded(2), Refused: "refused"},
		{Header: encoded(1)},
	}})
	add("another hash", following{Hash: types.BlockHash{1}.String(), Steps: []headerStep{{Refused: "begin"}}})
	return append(all, faultCases(t)...)
}

// faultCases have headers of one key: it seals two of one height, is overridden, and meets a newer version.
func faultCases(t *testing.T) (all []testCase) {
	t.Helper()
	key := func(n byte) crypto.PrivateKey {
		k, err := crypto.NewPrivateKey([32]byte{31: n})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	seal := func(h types.Header, k crypto.PrivateKey) types.SignedHeader {
		h.Producer = k.PublicKey()
		hash := h.Hash()
		signature, err := k.Sign(hash[:], [32]byte{})
		if err != nil {
			t.Fatal(err)
		}
		return types.SignedHeader{Header: h, Seal: types.Seal{Signature: signature}}
	}
	_, blocks := readChains(t)
	parameters, err := types.DecodeParameters(unprefixed(t, blocks[0].parameters(t)["value"].(string)[2:]))
	if err != nil {
		t.Fatal(err)
	}
	first := seal(types.Header{Version: 2, ChainID: 7, Height: 5, Timestamp: 9}, key(1))
	after := types.Header{Version: 2, ChainID: 7, Height: 6, Parent: first.Header.Hash(), Timestamp: 9}
	fork, later := after, after
	later.Timestamp++
	fork.Parent[0] ^= 1
	add := func(name string, head types.SignedHeader, override *overrideCase, steps ...headerStep) {
		all = append(all, testCase{Name: "following: " + name, Follow: &following{
			Header: prefixed(head.Encode()), Hash: head.Header.Hash().String(), Override: override, Steps: steps,
		}})
	}
	step := func(h types.SignedHeader, refused string) headerStep {
		return headerStep{Header: prefixed(h.Encode()), Refused: refused}
	}
	add("two headers of a block", first, nil, step(seal(fork, key(1)), "forked"), step(seal(after, key(1)), ""),
		step(seal(later, key(2)), "refused"), step(seal(later, key(1)), "equivocation"), step(seal(later, key(1)), "equivocation"))
	parameters.Producer = key(2).PublicKey()
	add("an override", first, &overrideCase{6, prefixed(parameters.Encode())},
		step(seal(after, key(1)), "refused"), step(seal(after, key(2)), ""))
	parameters.Upgrade = &types.Upgrade{Version: 3, From: 9}
	add("a newer version", first, &overrideCase{6, prefixed(parameters.Encode())}, step(seal(after, key(2)), "unknownVersion"))
	return all
}

// inclusionCases prove the inclusion of transactions of a block, and of others.
func inclusionCases(t *testing.T) (all []testCase) {
	t.Helper()
	chain, _ := readChains(t)
	block := &chain[1]
	header := block.header(t)
	var txs []*types.Tx
	var receipts []types.Receipt
	for _, b := range block.Transactions {
		tx, err := types.DecodeTx(unprefixed(t, b.Signed))
		if err != nil {
			t.Fatal(err)
		}
		receipt, err := types.DecodeReceipt(unprefixed(t, b.Receipt))
		if err != nil {
			t.Fatal(err)
		}
		txs, receipts = append(txs, tx), append(receipts, receipt)
	}
	rendered := func(p types.InclusionProof) map[string]any {
		siblings := []string{}
		for i := range p.Siblings {
			siblings = append(siblings, prefixed(p.Siblings[i][:]))
		}
		return map[string]any{"number": p.Number, "n": p.N, "leaf": prefixed(p.Leaf[:]), "siblings": siblings}
	}
	transactions, results := lists.NewTree(lists.TransactionLeaves(txs)), lists.NewTree(lists.ReceiptLeaves(receipts))
	answer := func(i int) map[string]any {
		return map[string]any{
			"header": prefixed(header.Encode()), "rawTransaction": prefixed(txs[i].Encoded()),
			"rawReceipt":  prefixed(receipts[i].Encode()),
			"transaction": rendered(transactions.Prove(i)), "receipt": rendered(results.Prove(i)),
		}
	}
	for i := range txs {
		all = append(all, testCase{Name: "inclusion", Inclusion: &inclusionCase{answer(i), map[string]any{
			"transactionHash": txs[i].ID().String(), "height": 1, "blockHash": header.Header.Hash().String(),
			"number": i, "n": len(txs), "success": receipts[i].Status == types.StatusSuccess,
		}}})
	}
	for name, change := range map[string]func(a map[string]any){
		"another transaction": func(a map[string]any) { a["rawTransaction"] = answer(3)["rawTransaction"] },
		"another receipt":     func(a map[string]any) { a["rawReceipt"] = prefixed(types.Receipt{GasUsed: 1}.Encode()) },
		"another number":      func(a map[string]any) { a["receipt"] = answer(3)["receipt"] },
		"no transaction":      func(a map[string]any) { a["rawTransaction"] = "0x" },
		"no receipt":          func(a map[string]any) { a["rawReceipt"] = "0x" },
		"a cut header":        func(a map[string]any) { a["header"] = prefixed(header.Encode()[:200]) },
		"another block":       func(a map[string]any) { a["header"] = prefixed(chain[2].header(t).Encode()) },
		"one sibling too many": func(a map[string]any) {
			p := transactions.Prove(2)
			p.Siblings = slices.Concat(p.Siblings, [][32]byte{{}})
			a["transaction"] = rendered(p)
		},
	} {
		changed := answer(2)
		change(changed)
		all = append(all, testCase{Name: "inclusion: " + name, Inclusion: &inclusionCase{Answer: changed}})
	}
	return all
}
