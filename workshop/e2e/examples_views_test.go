package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/proof/view"
	"github.com/cairn-chain/cairn/types"
)

const viewVectorsFile = "../../docs/view-vectors.json"

// viewVectors is docs/view-vectors.json: proofs of views on the examples' chain, and changed ones.
type viewVectors struct {
	About    []string         `json:"about"`
	ChainID  uint64           `json:"chainId"`
	Producer types.PublicKey  `json:"producer"`
	Contract types.ContractID `json:"contract"`
	Code     api.Data         `json:"code"` // hash of the contract's code, which proofs do not contain
	Answers  []viewAnswer     `json:"answers"`
	Refused  []refusedView    `json:"refused"`
}

// viewAnswer is a view call, the node's proof, and the result computed from it.
type viewAnswer struct {
	Function string        `json:"function"`
	Args     api.Data      `json:"args"`
	Proof    api.ViewProof `json:"proof"`
	Outcome  string        `json:"outcome"` // success, or why the call failed
	Output   api.Data      `json:"output"`
}

// refusedView is the first answer's proof with changed members, for the same question, and the step that refuses it.
type refusedView struct {
	About string          `json:"about"`
	Step  view.Step       `json:"step"`
	With  json.RawMessage `json:"with"` // the members of the proof that differ
}

// views writes the vectors, or compares them with the node.
func (c *exampleChain) views() {
	c.t.Helper()
	v := viewVectors{
		About: []string{
			"Proofs of views (docs/protocol.md, \"Proofs of views\"), as svc_getViewProof gives them. Verifiers have code.",
			"Each of refused is the proof of the first answer with some members changed, and the step that refuses it.",
		},
		ChainID: api.DevelopmentChainID, Contract: c.token(),
	}
	var parameters struct{ Producer types.PublicKey }
	c.decode(c.post("svc_getParameters"), &parameters)
	v.Producer = parameters.Producer
	c.decode(c.post("svc_getContractCode", v.Contract), &v.Code)
	verifier, err := view.New()
	if err != nil {
		c.t.Fatal(err)
	}
	defer verifier.Close()
	question := view.Question{
		Contract: v.Contract, ChainID: v.ChainID, Network: types.Regtest, Producer: v.Producer, Codes: [][]byte{v.Code},
	}
	for _, asked := range []viewAnswer{
		{Function: "balanceOf", Args: argsOf("address", c.account(1))},
		{Function: "balanceOf", Args: argsOf("address", types.Account{31: 9})},
		{Function: "symbol"},
		{Function: "balanceOf", Args: argsOf()},
		{Function: "nothing"},
	} {
		c.decode(c.post("svc_getViewProof", v.Contract, asked.Function, asked.Args, "latest", c.codeHashes()), &asked.Proof)
		question.Function, question.Args = asked.Function, asked.Args
		answer, err := verifier.Verify(c.t.Context(), question, asked.Proof)
		if err != nil {
			c.t.Fatal(err)
		}
		asked.Outcome, asked.Output = answer.Reason, answer.Output
		if answer.Success {
			asked.Outcome = "success"
		}
		v.Answers = append(v.Answers, asked)
	}
	question.Function, question.Args = v.Answers[0].Function, v.Answers[0].Args
	honest, err := json.Marshal(v.Answers[0].Proof)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, lie := range c.lies(v.Answers[0].Proof) {
		var changed api.ViewProof // a copy: decoding over it writes into its slices
		c.decode(honest, &changed)
		c.decode(lie.With, &changed)
		_, err := verifier.Verify(c.t.Context(), question, changed)
		var refused *view.RefusedError
		if !errors.As(err, &refused) {
			c.t.Fatalf("%s: error %v", lie.About, err)
		}
		lie.Step = refused.Step
		v.Refused = append(v.Refused, lie)
	}
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		c.t.Fatal(err)
	}
	if text = append(text, '\n'); *update {
		err = os.WriteFile(viewVectorsFile, text, 0o644)
	} else if written, readErr := os.ReadFile(viewVectorsFile); readErr != nil || !bytes.Equal(written, text) {
		c.t.Errorf("%s is not what the node proves (%v): run the test with -update", viewVectorsFile, readErr)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *exampleChain) decode(text []byte, to any) {
	c.t.Helper()
	if err := json.Unmarshal(text, to); err != nil {
		c.t.Fatalf("%v: %s", err, text)
	}
}

// codeHashes are the hashes of the token's code.
func (c *exampleChain) codeHashes() []any {
	var contract struct {
		CodeHash types.CodeHash `json:"code_hash"`
	}
	c.decode(c.post("svc_getContract", c.token()), &contract)
	return []any{contract.CodeHash}
}

// lies are proofs that do not hold.
func (c *exampleChain) lies(honest api.ViewProof) (lies []refusedView) {
	c.t.Helper()
	add := func(about string, with map[string]any) {
		text, err := json.Marshal(with)
		if err != nil {
			c.t.Fatal(err)
		}
		lies = append(lies, refusedView{About: about, With: text})
	}
	flipped := func(data api.Data, at int) api.Data {
		changed := slices.Clone(data)
		changed[(len(data)+at)%len(data)] ^= 1
		return changed
	}
	add("a header that nobody signed", map[string]any{"header": flipped(honest.Header, 20)})
	add("a header cut short", map[string]any{"header": honest.Header[:len(honest.Header)-1]})
	var early api.ViewProof
	c.decode(c.post("svc_getViewProof", c.token(), "symbol", "0x", "0x1"), &early)
	add("another block's header", map[string]any{"header": early.Header})
	add("a key missing", map[string]any{"values": honest.Values[1:]})
	backwards := slices.Clone(honest.Values)
	slices.Reverse(backwards)
	add("keys in another order", map[string]any{"values": backwards})
	last := len(honest.Values) - 1
	changed := slices.Clone(honest.Values)
	value := flipped(*changed[last].Value, 0)
	changed[last].Value = &value
	add("another value", map[string]any{"values": changed})
	absent := slices.Clone(honest.Values)
	absent[last].Value = nil
	add("a value that is said to be absent", map[string]any{"values": absent})
	add("another digest", map[string]any{"witness": flipped(honest.Witness, -1)})
	add("a witness cut short", map[string]any{"witness": honest.Witness[:len(honest.Witness)-32]})
	add("a witness with a byte more", map[string]any{"witness": append(slices.Clone(honest.Witness), 0)})
	add("no witness", map[string]any{"witness": api.Data{}})
	add("a code that is not run", map[string]any{"codes": []api.Data{{0, 'a', 's', 'm', 1, 0, 0, 0}}})
	return append(lies, c.otherKeys()...)
}

// otherKeys returns a valid proof for another question.
func (c *exampleChain) otherKeys() []refusedView {
	proof := c.post("svc_getViewProof", c.token(), "totalSupply", "0x", "latest", c.codeHashes())
	return []refusedView{{About: "the proof of another call", With: proof}}
}
