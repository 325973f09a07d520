package loadgen

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/types"
)

const (
	// feeHeadroom is the max fee of a load's transfers in base fees: 39 full blocks in a row raise it that far.
	feeHeadroom = 100
	// setupBatch is how many calls a request of the preparation has.
	setupBatch = 100
	// setupWave is how many transactions of one account are sent before they are in blocks. A node takes nonces up to
	// 1,024 from the account's on, and may learn of a wave's block after its receipts are there.
	setupWave = 500
)

// senderTag makes the senders' keys out of their source's.
var senderTag = bip340.NewTag("cairn/workshop/sender")

// Cairn is a Cairn node as a target. Its senders' keys are a function of who funds them: what one run leaves in their
// accounts, the next one uses.
type Cairn struct {
	client  *client.Client
	chainID uint64
	senders []cairnSender
	readers []types.Account // whose balances are read
	gas     types.Gas       // of a transfer of coins
	maxFee  types.Amount
	token   *token // of the loads that are of one
}

type cairnSender struct {
	signer  client.Signer
	account types.Account
	nonce   uint64
}

// PrepareCairn readies the senders of a plan on a node's chain. They are funded from treasury or, if that is nil, by a
// development chain itself (dev_fund). On another chain only reads are possible without a treasury, of accounts that
// had a part in recent transactions. Note is told of what takes time.
func PrepareCairn(
	ctx context.Context, c *client.Client, plan Plan, treasury *crypto.PrivateKey, note func(string),
) (*Cairn, error) {
	if err := plan.Check(); err != nil {
		return nil, err
	}
	chainID, err := c.ChainID(ctx)
	if err != nil {
		return nil, err
	}
	t := &Cairn{client: c, chainID: chainID}
	if treasury == nil && chainID != api.DevelopmentChainID {
		if plan.Load != Reads {
			return nil, errors.New("this load needs coins on a chain that is not for development: say whose to send")
		}
		return t, t.findReaders(ctx)
	}
	if err := t.makeSenders(plan.FirstSender, plan.Senders, treasury); err != nil {
		return nil, err
	}
	if err := t.quote(ctx); err != nil {
		return nil, err
	}
	if plan.Load.ofToken() {
		if err := t.prepareToken(ctx, treasury, note); err != nil {
			return nil, fmt.Errorf("the token: %w", err)
		}
	}
	need := types.Amount(1) // so that there is an account to read
	if !plan.Load.Repeats() {
		if need, err = t.need(plan.PerSender); err != nil {
			return nil, err
		}
	}
	return t, t.fund(ctx, t.senders, need, treasury, note)
}

// makeSenders derives the senders' keys: tagged("cairn/workshop/sender", source's key ‖ index), the source of a
// development chain being no secret.
func (t *Cairn) makeSenders(first, count int, treasury *crypto.PrivateKey) error {
	for i := first; i < first+count; i++ {
		s, err := newSender(treasury, fmt.Sprint(i))
		if err != nil {
			return err
		}
		t.senders = append(t.senders, s)
		t.readers = append(t.readers, s.account)
	}
	return nil
}

func newSender(treasury *crypto.PrivateKey, name string) (s cairnSender, err error) {
	var source [32]byte
	if treasury != nil {
		source = treasury.Bytes()
	}
	key, err := crypto.NewPrivateKey(senderTag.Hash(source[:], []byte(name)))
	if err != nil {
		return s, err
	}
	s.signer = client.NewSigner(key)
	s.account = s.signer.Account()
	return s, nil
}

// findReaders takes the accounts of recent transactions, and the producer's.
func (t *Cairn) findReaders(ctx context.Context) error {
	parameters, err := t.client.Parameters(ctx)
	if err != nil {
		return err
	}
	recent, err := t.client.RecentTransactions(ctx, api.MaxRecentTransactions)
	if err != nil {
		return err
	}
	t.readers = []types.Account{types.Account(parameters.Producer)}
	for _, tx := range recent {
		t.readers = append(t.readers, tx.From, tx.To)
	}
	return nil
}

// quote asks what a transfer costs.
func (t *Cairn) quote(ctx context.Context) error {
	price, err := t.client.GasPrice(ctx)
	if err != nil {
		return err
	}
	t.maxFee = max(types.Amount(price.BaseFee)*feeHeadroom, types.Amount(price.SuggestedMaxFee))
	// To an account that is new, from one that can pay: the most that a transfer takes.
	var newcomer types.Account = senderTag.Hash([]byte("newcomer"))
	parameters, err := t.client.Parameters(ctx)
	if err != nil {
		return err
	}
	t.gas, err = t.client.EstimateGas(ctx, types.Transaction{
		Version: types.TransactionVersion, ChainID: t.chainID, Sender: types.Account(parameters.Producer),
		Payload: client.Transfer(newcomer, 1),
	})
	return err
}

// need is what a sender of count transfers must have.
func (t *Cairn) need(count int) (types.Amount, error) {
	each, err := t.transfer(0, 0).Cost()
	if err != nil {
		return 0, err
	}
	return types.Gas(count).Cost(each)
}

// fund reads senders' nonces and balances, and gives those who have less than need what they lack.
func (t *Cairn) fund(
	ctx context.Context, senders []cairnSender, need types.Amount, treasury *crypto.PrivateKey, note func(string),
) error {
	var poor []types.Account
	var lacks []types.Amount
	for from := 0; from < len(senders); from += setupBatch {
		var batch client.Batch
		part := senders[from:min(from+setupBatch, len(senders))]
		balances := make([]client.Pending[api.Quantity], len(part))
		nonces := make([]client.Pending[api.Quantity], len(part))
		for i, s := range part {
			balances[i] = client.Add(&batch, api.GetBalance, api.GetBalanceParams{Account: s.account.String()})
			nonces[i] = client.Add(&batch, api.GetTransactionCount,
				api.GetTransactionCountParams{Account: s.account.String(), Block: api.Pending()})
		}
		if err := batch.Send(ctx, t.client); err != nil {
			return err
		}
		for i := range part {
			balance, err := balances[i].Result()
			if err != nil {
				return err
			}
			nonce, err := nonces[i].Result()
			if err != nil {
				return err
			}
			part[i].nonce = uint64(nonce)
			if have := types.Amount(balance); have < need {
				poor, lacks = append(poor, part[i].account), append(lacks, need-have)
			}
		}
	}
	if len(poor) == 0 {
		return nil
	}
	note(fmt.Sprintf("funding %d senders", len(poor)))
	if err := t.pay(ctx, poor, lacks, treasury); err != nil {
		return fmt.Errorf("fund the senders: %w", err)
	}
	return nil
}

// pay sends amounts to accounts, and waits until they have them.
func (t *Cairn) pay(
	ctx context.Context, to []types.Account, amounts []types.Amount, treasury *crypto.PrivateKey,
) error {
	if treasury == nil {
		return t.submit(ctx, len(to), func(b *client.Batch, i int) (client.Pending[types.TxID], error) {
			params := api.DevFundParams{Account: to[i].String(), Amount: api.LooseQuantity(amounts[i])}
			return client.Add(b, api.DevFund, params), nil
		})
	}
	nonce, err := t.client.Nonce(ctx, treasury.PublicKey(), api.Pending())
	if err != nil {
		return err
	}
	signer := client.NewSigner(*treasury)
	return t.submit(ctx, len(to), func(b *client.Batch, i int) (answer client.Pending[types.TxID], err error) {
		signed, err := signer.Sign(types.Transaction{
			Version:              types.TransactionVersion,
			ChainID:              t.chainID,
			Sender:               treasury.PublicKey(),
			Nonce:                nonce + uint64(i),
			GasLimit:             t.gas,
			MaxFeePerGas:         t.maxFee,
			MaxPriorityFeePerGas: 1,
			Payload:              client.Transfer(to[i], amounts[i]),
		})
		if err != nil {
			return answer, err
		}
		return client.Add(b, api.SendRawTransaction, api.RawTransactionParams{Transaction: signed.Encode()}), nil
	})
}

// submit sends count transactions of one account, of which add puts one into a batch, and waits until all are in
// blocks, wave by wave. The failure of a wave's last one is an error: what the others lack shows in the load.
func (t *Cairn) submit(
	ctx context.Context, count int, add func(b *client.Batch, i int) (client.Pending[types.TxID], error),
) error {
	for wave := 0; wave < count; wave += setupWave {
		var last types.TxID
		end := min(wave+setupWave, count)
		for from := wave; from < end; from += setupBatch {
			var batch client.Batch
			var answers []client.Pending[types.TxID]
			for i := from; i < min(from+setupBatch, end); i++ {
				answer, err := add(&batch, i)
				if err != nil {
					return err
				}
				answers = append(answers, answer)
			}
			if err := batch.Send(ctx, t.client); err != nil {
				return err
			}
			for _, answer := range answers {
				var err error
				if last, err = answer.Result(); err != nil {
					return err
				}
			}
		}
		receipt, err := t.client.WaitReceipt(ctx, last) // one account's are included in order
		if err != nil {
			return err
		}
		if err := client.Failure(receipt); err != nil {
			return err
		}
	}
	return nil
}

// transfer is a sender's index-th transfer: of one unit, of coins or of the token, to another sender. Who sends next to
// each other does not pay each other: a block of transfers of half the senders touches them all.
func (t *Cairn) transfer(sender, index int) types.Transaction {
	s := t.senders[sender]
	to := t.senders[(sender+len(t.senders)/2+index)%len(t.senders)].account
	if t.token != nil {
		return t.transaction(s, index, t.token.gas, t.token.transfer(to, 1))
	}
	return t.transaction(s, index, t.gas, client.Transfer(to, 1))
}

// transaction is a sender's index-th from its next nonce on.
func (t *Cairn) transaction(s cairnSender, index int, gas types.Gas, payload types.Payload) types.Transaction {
	return types.Transaction{
		Version:              types.TransactionVersion,
		ChainID:              t.chainID,
		Sender:               s.account,
		Nonce:                s.nonce + uint64(index),
		GasLimit:             gas,
		MaxFeePerGas:         t.maxFee,
		MaxPriorityFeePerGas: 1,
		Payload:              payload,
	}
}

// Transfers implements [Target].
func (t *Cairn) Transfers(sender, first, count int) ([]Call, error) {
	txs := make([]types.Transaction, count)
	for i := range txs {
		txs[i] = t.transfer(sender, first+i)
	}
	signed, err := t.senders[sender].signer.SignAll(txs)
	if err != nil {
		return nil, err
	}
	calls := make([]Call, count)
	for i := range signed {
		encoded := signed[i].Encode()
		id := [32]byte(types.TransactionID(encoded))
		calls[i] = NewCall(api.SendRawTransaction.Name, `["0x`+hex.EncodeToString(encoded)+`"]`, &id)
	}
	return calls, nil
}

// Read implements [Target].
func (t *Cairn) Read(number int) Call {
	if t.token != nil {
		return t.token.read(t.readers[number%len(t.readers)])
	}
	return NewCall(api.GetBalance.Name, `["`+t.readers[number%len(t.readers)].String()+`"]`, nil)
}

// Judge implements [Target].
func (t *Cairn) Judge(e CallError) Verdict {
	reason := func(e *client.Error) any { return e.Data["reason"] }
	switch {
	case e.Code == api.CodeAlreadyKnown:
		return Known
	case e.Code == api.CodeMempoolFull, e.Data.Reason == reason(api.ErrNonceTooHigh), e.Data.Reason == reason(api.ErrHeld):
		return TryAgain
	}
	return Refused
}

// Height implements [Chain].
func (t *Cairn) Height(ctx context.Context) (uint64, error) {
	height, err := t.client.BlockNumber(ctx)
	return uint64(height), err
}

// BlockTransactions implements [Chain].
func (t *Cairn) BlockTransactions(ctx context.Context, height uint64) ([][32]byte, error) {
	block, err := t.client.BlockByNumber(ctx, api.AtHeight(types.Height(height)), false)
	if err != nil {
		return nil, err
	}
	if block == nil {
		return nil, fmt.Errorf("the node has no block %d any more", height)
	}
	hashes := make([][32]byte, len(block.Transactions.Hashes))
	for i, hash := range block.Transactions.Hashes {
		hashes[i] = hash
	}
	return hashes, nil
}
