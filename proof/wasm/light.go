//go:build js && wasm

package main

import (
	"errors"
	"fmt"
	"syscall/js"

	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

// decoded decodes a Uint8Array; what names it in an error.
func decoded[T any](a js.Value, what string, decode func([]byte) (T, error)) (value T, err error) {
	b, err := bytesOf(a)
	if err == nil {
		value, err = decode(b)
	}
	if err != nil {
		return value, fmt.Errorf("%w: %s: %w", proof.ErrRefused, what, err)
	}
	return value, nil
}

// verifyInclusion takes Uint8Arrays with the encodings of a SignedHeader, a SignedTransaction, a Receipt, and the
// inclusion proofs of both. It returns the proven facts, or the reason of a refusal.
func verifyInclusion(_ js.Value, args []js.Value) any {
	included, err := included(args)
	if err != nil {
		return refusal(err)
	}
	o := js.Global().Get("Object").New()
	o.Set("transactionHash", included.ID.String())
	o.Set("height", uint64(included.Height))
	o.Set("blockHash", included.BlockHash.String())
	o.Set("number", included.Number)
	o.Set("n", included.N)
	o.Set("success", included.Success)
	return o
}

func included(args []js.Value) (proof.Included, error) {
	header, errHeader := decoded(args[0], "the header", types.DecodeSignedHeader)
	tx, errTx := decoded(args[1], "the transaction", types.DecodeSignedTransaction)
	receipt, errReceipt := decoded(args[2], "the receipt", types.DecodeReceipt)
	first, errFirst := decoded(args[3], "the transaction's proof", types.DecodeInclusionProof)
	second, errSecond := decoded(args[4], "the receipt's proof", types.DecodeInclusionProof)
	if err := errors.Join(errHeader, errTx, errReceipt, errFirst, errSecond); err != nil {
		return proof.Included{}, err
	}
	if header.Header.Height > maxNumber {
		return proof.Included{}, errNumber
	}
	return proof.VerifyInclusion(&header.Header, tx, receipt, proof.Inclusion{Transaction: first, Receipt: second})
}

// newFollower takes an encoded SignedHeader as a Uint8Array, its trusted hash, whether each header must come with a
// proof of the parameters, and the height and encoded Parameters of an override (null for none). It returns null if the
// hash is malformed, a refusal, or a function that returns the last header's members or a refusal. That function takes
// the next header as a Uint8Array, and a Merkle proof of the parameters or null; without arguments it changes nothing.
func newFollower(_ js.Value, args []js.Value) any {
	var trusted types.BlockHash
	if err := trusted.UnmarshalText([]byte(args[1].String())); err != nil {
		return nil
	}
	follower, err := follower(args, trusted)
	if err != nil {
		return refusal(err)
	}
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		if len(args) > 0 {
			if err := follow(follower, args); err != nil {
				return refusal(err)
			}
		}
		head := follower.Head().Header
		o := js.Global().Get("Object").New()
		o.Set("height", uint64(head.Height))
		o.Set("blockHash", follower.Hash().String())
		o.Set("producer", head.Producer.String())
		o.Set("version", head.Version)
		o.Set("timestampMs", head.Timestamp)
		o.Set("stateRoot", head.StateRoot.String())
		return o
	})
}

func follower(args []js.Value, trusted types.BlockHash) (*proof.Follower, error) {
	head, err := decoded(args[0], "the header", types.DecodeSignedHeader)
	if err != nil {
		return nil, err
	}
	if head.Header.Height > maxNumber || head.Header.Timestamp > types.MaxTime {
		return nil, errNumber
	}
	options := proof.FollowerOptions{EachProof: args[2].Bool()}
	if !args[3].IsNull() {
		parameters, err := decoded(args[4], "the override", types.DecodeParameters)
		if err != nil {
			return nil, err
		}
		options.Override = &proof.Override{Height: types.Height(args[3].Int()), Parameters: parameters}
	}
	return proof.NewFollower(head, trusted, options)
}

func follow(f *proof.Follower, args []js.Value) error {
	next, err := decoded(args[0], "the header", types.DecodeSignedHeader)
	if err != nil {
		return err
	}
	if next.Header.Height > maxNumber {
		return errNumber
	}
	var parameters *types.MerkleProof
	if !args[1].IsNull() {
		shown, err := decoded(args[1], "the proof of the parameters", types.DecodeMerkleProof)
		if err != nil {
			return err
		}
		parameters = &shown
	}
	return f.Next(next, parameters)
}

var errNumber = fmt.Errorf("%w: an integer that JavaScript cannot represent safely", proof.ErrRefused)
