package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// Outcomes of sending a transaction.
const (
	undecodable  = "-32001 undecodable"
	badSignature = "-32002 bad_signature"
	wrongChain   = "-32002 wrong_chain"
	nonceTooLow  = "-32003 nonce_too_low"
	nonceTooHigh = "-32003 nonce_too_high"
	held         = "-32003 held"
	cannotPay    = "-32004 cannot_pay"
	feeTooLow    = "-32005 fee_too_low"
	underpriced  = "-32005 replacement_underpriced"
	alreadyKnown = "-32006 already_known"
	poolFull     = "-32007 mempool_full"
)

const (
	transferGas types.Gas = 120_000
	// blockGas is a block's gas limit. A transaction with this gas limit takes a whole block, whatever it uses, so that
	// others like it stay in the pool.
	blockGas types.Gas = 1_000_000_000
	// lowestFee is the lowest base fee, which is also that of a chain without load.
	lowestFee types.Amount = 10
	// ampleFee pays for any base fee that can result from an attack of this length.
	ampleFee types.Amount = 10_000
	// window is the number of nonces per account that the pool accepts.
	window = 1024
	// sendBatch is the default number of transactions per request.
	sendBatch = 64
	// good is the number of validly signed transactions sent with each invalid one.
	good = 511
)

// sending returns a request that sends transactions, with the correct outcomes of each in turn.
func sending(encoded [][]byte, right ...[]string) request {
	r := post(sendBody(encoded))
	r.wants = right
	return r
}

// sendBody returns a batch that sends transactions.
func sendBody(encoded [][]byte) []byte {
	var body bytes.Buffer
	body.WriteByte('[')
	for i, tx := range encoded {
		if i > 0 {
			body.WriteByte(',')
		}
		body.WriteString(`{"jsonrpc":"2.0","id":1,"method":"svc_sendRawTransaction","params":["0x`)
		body.WriteString(hex.EncodeToString(tx))
		body.WriteString(`"]}`)
	}
	body.WriteByte(']')
	return body.Bytes()
}

// transfer returns a transfer of 1 unit to a fixed account.
func transfer(from client.Signer, nonce uint64, gas types.Gas, maxFee, tip types.Amount) types.Transaction {
	return types.Transaction{
		ChainID:              chainID,
		Sender:               from.Account(),
		Nonce:                nonce,
		GasLimit:             gas,
		MaxFeePerGas:         maxFee,
		MaxPriorityFeePerGas: tip,
		Target:               signerOf("recipient").Account(),
		Value:                1,
		Payload:              types.Transfer{},
	}
}

// signAll signs, in parallel, each transactions of every signer, where of returns the i-th, and returns them in order
// of signers.
func signAll(
	ctx context.Context, signers []client.Signer, each int, of func(from client.Signer, i int) types.Transaction,
) ([][]byte, error) {
	encoded, errs := make([][]byte, len(signers)*each), make([]error, runtime.NumCPU())
	var next atomic.Int64
	inParallel(len(errs), func(worker int) {
		for s := int(next.Add(1)) - 1; s < len(signers) && errs[worker] == nil; s = int(next.Add(1)) - 1 {
			txs := make([]types.Transaction, each)
			for i := range txs {
				txs[i] = of(signers[s], i)
			}
			signed, err := client.SignAll(ctx, signers[s], txs)
			for i, tx := range signed {
				encoded[s*each+i] = tx.Encode()
			}
			errs[worker] = errors.Join(err, ctx.Err())
		}
	})
	return encoded, errors.Join(errs...)
}

// eachSends returns an attack whose clients each send their own requests in order, in a loop.
func eachSends(of [][]request) func(context.Context, *node, *tally) {
	return func(ctx context.Context, n *node, t *tally) {
		inParallel(len(of), func(client int) {
			at := -1
			send(ctx, n, t, func() *request {
				at++
				return &of[client][at%len(of[client])]
			})
		})
	}
}

// garbageTransactions sends bytes that are not transactions, and transactions that break a rule checked before the
// signature.
func garbageTransactions(
	ctx context.Context, s settings, generation int,
) (func(context.Context, *node, *tally), error) {
	rich := signersOf("garbage", generation, 1)[0]
	good, err := client.Sign(ctx, rich, transfer(rich, 0, transferGas, ampleFee, 1))
	if err != nil {
		return nil, err
	}
	encoded := good.Encode()
	unsigned := func(change func(*types.Transaction)) []byte {
		tx := types.SignedTransaction{Transaction: good.Transaction, Witness: types.WitnessKey{}}
		change(&tx.Transaction)
		return tx.Encode()
	}
	random := make([]byte, 300)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	var requests []request
	add := func(tx []byte, right string) {
		requests = append(requests, sending(slices.Repeat([][]byte{tx}, sendBatch), []string{right}))
	}
	add(nil, undecodable)
	add(random, undecodable)
	add(encoded[:len(encoded)-1], undecodable)
	add(append(bytes.Clone(encoded), 0), undecodable)
	add(bytes.Repeat([]byte{0xff}, 300), undecodable)
	add(unsigned(func(tx *types.Transaction) { tx.ChainID++ }), wrongChain)
	add(append([]byte{9}, encoded[1:]...), undecodable) // another version
	add(unsigned(func(tx *types.Transaction) { tx.GasLimit = 1 }), "-32008 intrinsic_gas")
	add(unsigned(func(tx *types.Transaction) { tx.GasLimit = blockGas + 1 }), "-32008 gas_over_block")
	add(unsigned(func(tx *types.Transaction) { tx.MaxPriorityFeePerGas = ampleFee + 1 }), "-32009 priority_over_max")
	add(unsigned(func(tx *types.Transaction) { tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = 1, 1 }), feeTooLow)
	add(unsigned(func(tx *types.Transaction) { tx.Sender = signerOf("nobody").Account() }), cannotPay)
	add(unsigned(func(tx *types.Transaction) { tx.Nonce = window }), nonceTooHigh)
	add(
		unsigned(func(tx *types.Transaction) { tx.Payload = types.Call{Function: strings.Repeat("x", 10_000)} }),
		"-32009 field_too_long",
	)
	requests = append(requests,
		sending([][]byte{bytes.Repeat([]byte{0}, types.MaxTransactionBytes+1)}, []string{undecodable}),
		sending([][]byte{unsigned(func(tx *types.Transaction) {
			tx.Payload = types.Call{Args: make([]byte, types.MaxTransactionBytes)}
		})}, []string{undecodable}),
		post([]byte(`{"jsonrpc":"2.0","id":1,"method":"svc_sendRawTransaction","params":["0xabc"]}`), malformed),
		post(
			[]byte(`{"jsonrpc":"2.0","id":1,"method":"svc_sendRawTransaction","params":["`+strings.Repeat("zz", 1000)+`"]}`),
			malformed,
		),
	)
	return streams(func() []request { return requests })(ctx, s, generation)
}

// wrongSignatures sends batches of 512 transactions, each from another address, of which one has an invalid signature:
// this makes the batch verification of signatures fail.
func wrongSignatures(ctx context.Context, s settings, generation int) (func(context.Context, *node, *tally), error) {
	signers := signersOf("signatures", generation, accountsOf(s).signatures)
	encoded, err := signAll(ctx, signers, good, func(from client.Signer, i int) types.Transaction {
		return transfer(from, uint64(i), transferGas, ampleFee, 1)
	})
	if err != nil {
		return nil, err
	}
	liar := signersOf("liar", generation, 1)[0]
	requests := make([][]request, s.clients)
	for i := range signers {
		mine, place := encoded[i*good:(i+1)*good], i%(good+1)
		var signature types.Signature
		_, _ = rand.Read(signature[:]) // never fails (crypto/rand)
		lie := types.SignedTransaction{
			Transaction: transfer(liar, 0, transferGas, ampleFee, types.Amount(1+i)),
			Witness:     types.WitnessKey{Signature: signature},
		}
		// On a slow machine, more signatures may wait for verification than the pool allows.
		rights := slices.Repeat([][]string{{okay, poolFull, alreadyKnown, nonceTooLow, nonceTooHigh, held}}, good+1)
		rights[place] = []string{badSignature, poolFull}
		r := sending(slices.Insert(slices.Clone(mine), place, lie.Encode()), rights...)
		r.fresh = true
		requests[i%s.clients] = append(requests[i%s.clients], r)
	}
	return eachSends(requests), nil
}

// replays sends the same transactions repeatedly, before and after their inclusion.
func replays(ctx context.Context, s settings, generation int) (func(context.Context, *node, *tally), error) {
	signers := signersOf("replays", generation, s.clients)
	encoded, err := signAll(ctx, signers, sendBatch, func(from client.Signer, i int) types.Transaction {
		return transfer(from, uint64(i), transferGas, ampleFee, 1)
	})
	if err != nil {
		return nil, err
	}
	requests := make([][]request, s.clients)
	for c := range requests {
		requests[c] = []request{sending(encoded[c*sendBatch:(c+1)*sendBatch], []string{okay, alreadyKnown})}
	}
	return eachSends(requests), nil
}

// nonceGaps sends transactions that wait for a missing nonce.
func nonceGaps(ctx context.Context, s settings, generation int) (func(context.Context, *node, *tally), error) {
	const perSigner = 2 * sendBatch
	signers := signersOf("gaps", generation, accountsOf(s).gaps)
	encoded, err := signAll(ctx, signers, perSigner, func(from client.Signer, i int) types.Transaction {
		return transfer(from, uint64(1+i*9), transferGas, ampleFee, 1)
	})
	if err != nil {
		return nil, err
	}
	requests := make([][]request, s.clients)
	for i := 0; i < len(encoded); i += sendBatch {
		c := i / sendBatch % s.clients
		requests[c] = append(requests[c], sending(encoded[i:i+sendBatch], []string{
			okay, alreadyKnown, nonceTooHigh, held, poolFull,
		}))
	}
	return eachSends(requests), nil
}

// replacements raises the fees of the same nonces repeatedly by a tenth, in runs of as many nonces as the pool accepts
// per account. It also raises them by less, which must be refused.
func replacements(ctx context.Context, s settings, generation int) (func(context.Context, *node, *tally), error) {
	signers := signersOf("replacements", generation, s.clients)
	run := min(window, max(1, s.stock/s.clients/4))
	rounds := max(2, s.stock/s.clients/run)
	perSigner := run * rounds
	encoded, err := signAll(ctx, signers, perSigner, func(from client.Signer, i int) types.Transaction {
		fee := lowestFee + 10
		for range i / run {
			fee += (fee + 9) / 10
		}
		return transfer(from, uint64(i%run), blockGas, fee, fee)
	})
	if err != nil {
		return nil, err
	}
	requests := make([][]request, s.clients)
	for c := range requests {
		mine := encoded[c*perSigner : (c+1)*perSigner]
		for i := 0; i < len(mine); i += sendBatch {
			requests[c] = append(requests[c], sending(mine[i:min(i+sendBatch, len(mine))],
				[]string{okay, underpriced, alreadyKnown, nonceTooLow, nonceTooHigh, held, poolFull}))
		}
	}
	return eachSends(requests), nil
}

// fullPool fills the pool with transactions at the lowest fee, each with the gas limit of a whole block, so that a
// block includes only one. It continues once the pool is full. In between, it sends some below the lowest fee.
func fullPool(ctx context.Context, s settings, generation int) (func(context.Context, *node, *tally), error) {
	const perSigner = window - window%sendBatch
	count := s.pool
	if generation > 0 {
		count = s.stock
	}
	signers := signersOf("pool", generation, (count+perSigner-1)/perSigner)
	encoded, err := signAll(ctx, signers, perSigner, func(from client.Signer, i int) types.Transaction {
		return transfer(from, uint64(i), blockGas, lowestFee, 0)
	})
	if err != nil {
		return nil, err
	}
	under := types.SignedTransaction{
		Transaction: transfer(signers[0], perSigner, transferGas, lowestFee-1, 0), Witness: types.WitnessKey{},
	}
	tooCheap := sending([][]byte{under.Encode()}, []string{feeTooLow}) // its signature is not checked
	requests := make([][]request, s.clients)
	for i := 0; i < len(encoded); i += sendBatch {
		c := i / perSigner % s.clients
		requests[c] = append(requests[c], sending(encoded[i:i+sendBatch],
			[]string{okay, alreadyKnown, nonceTooLow, nonceTooHigh, held, poolFull}))
		if len(requests[c])%16 == 0 {
			requests[c] = append(requests[c], tooCheap)
		}
	}
	for c := range requests {
		if len(requests[c]) == 0 {
			requests[c] = []request{tooCheap}
		}
	}
	return eachSends(requests), nil
}
