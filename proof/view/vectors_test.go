package view_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/proof/view"
	"github.com/cairn-chain/cairn/types"
)

// The valid proofs in docs/view-vectors.json give the stated result. Changed ones are refused at the stated step.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../docs/view-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		ChainID  uint64 `json:"chainId"`
		Producer types.PublicKey
		Contract types.ContractID
		Code     api.Data
		Answers  []struct {
			Function string
			Args     api.Data
			Proof    api.ViewProof
			Outcome  string
			Output   api.Data
		}
		Refused []struct {
			About string
			Step  view.Step
			With  json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	verifier, err := view.New()
	if err != nil {
		t.Fatal(err)
	}
	defer verifier.Close()
	question := view.Question{
		Contract: v.Contract, ChainID: v.ChainID, Network: types.Regtest, Producer: v.Producer, Codes: [][]byte{v.Code},
	}
	for _, asked := range v.Answers {
		question.Function, question.Args = asked.Function, asked.Args
		answer, err := verifier.Verify(t.Context(), question, asked.Proof)
		outcome := cmp.Or(answer.Reason, "success")
		if err != nil || outcome != asked.Outcome || !bytes.Equal(answer.Output, asked.Output) {
			t.Errorf("%s %s: %+v, %v, want %s %s", asked.Function, asked.Args, answer, err, asked.Outcome, asked.Output)
		}
	}
	question.Function, question.Args = v.Answers[0].Function, v.Answers[0].Args
	honest, err := json.Marshal(v.Answers[0].Proof)
	if err != nil {
		t.Fatal(err)
	}
	for _, lie := range v.Refused {
		var changed api.ViewProof // a copy: decoding over it writes into its slices
		if err := errors.Join(json.Unmarshal(honest, &changed), json.Unmarshal(lie.With, &changed)); err != nil {
			t.Fatal(err)
		}
		_, err := verifier.Verify(t.Context(), question, changed)
		var refused *view.RefusedError
		if !errors.As(err, &refused) || refused.Step != lie.Step {
			t.Errorf("%s: %v, want it refused at %s", lie.About, err, lie.Step)
		}
	}
	if len(v.Answers) < 5 || len(v.Refused) < 10 {
		t.Errorf("only %d answers and %d that are refused", len(v.Answers), len(v.Refused))
	}
}
