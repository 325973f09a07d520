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
	// feeHeadroom is the max fee of transfers as a multiple of the base fee: the base fee takes 39 consecutive full
	// blocks to rise that far.
	feeHeadroom = 100
	// setupBatch is the number of calls per setup request.
	setupBatch = 100
	// setupWave is the number of transactions that one account sends before waiting for blocks. A node accepts nonces
	// up to 1,024 beyond the account's, and may apply a wave's block after serving its receipts.
	setupWave = 500
)

// senderTag derives the senders' keys from the key that funds them.
var senderTag = bip340.NewTag("cairn/workshop/sender")

// Cairn is a Cairn node as a target. Its senders' keys depend only on the funding key, so a run uses the funds that
// earlier runs left.
type Cairn struct {
	client  *client.Client
	chainID uint64
	senders []cairnSender
	readers []types.Account // accounts whose balances are read
	gas     types.Gas       // gas of a coin transfer
	maxFee  types.Amount
	token   *token // set for token loads
}

type cairnSender struct {
	signer  client.KeySigner
	account types.Account
	nonce   uint64
}

// PrepareCairn prepares the senders of a plan on a node's chain. treasury funds them; if it is nil, a development chain
// does (dev_fund). On other chains, plans without a treasury can only read the balances of accounts from recent
// transactions. note is called before lengthy steps.
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
	if err := t.quote(ctx, treasury); err != nil {
		return nil, err
	}
	if plan.Load.ofToken() {
		if err := t.prepareToken(ctx, treasury, note); err != nil {
			return nil, fmt.Errorf("the token: %w", err)
		}
	}
	need := types.Amount(1) // so that each account exists
	if !plan.Load.Repeats() {
		if need, err = t.need(plan.PerSender); err != nil {
			return nil, err
		}
	}
	return t, t.fund(ctx, t.senders, need, treasury, note)
}

// makeSenders derives the senders' keys: tagged("cairn/workshop/sender", funding key ‖ index), where the funding key of
// a development chain is not secret.
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

// findReaders selects the accounts of recent transactions, and the producer's.
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

// quote determines the cost of a transfer from the account that funds the senders: the treasury or, on a development
// chain, the producer.
func (t *Cairn) quote(ctx context.Context, treasury *crypto.PrivateKey) error {
	price, err := t.client.GasPrice(ctx)
	if err != nil {
		return err
	}
	t.maxFee = max(types.Amount(price.BaseFee)*feeHeadroom, types.Amount(price.SuggestedMaxFee))
	// The most expensive transfer goes to a new account, from one with enough coins.
	var newcomer types.Account = senderTag.Hash([]byte("newcomer"))
	parameters, err := t.client.Parameters(ctx)
	if err != nil {
		return err
	}
	payer := types.Account(parameters.Producer)
	if treasury != nil {
		payer = treasury.PublicKey()
	}
	t.gas, err = t.client.EstimateGas(ctx, types.Transaction{
		ChainID: t.chainID, Sender: payer, Target: newcomer, Value: 1, Payload: types.Transfer{},
	}, client.KeySigner{}, nil)
	return err
}

// need returns the balance that a sender of count transfers requires.
func (t *Cairn) need(count int) (types.Amount, error) {
	transfer := t.transfer(0, 0)
	each, err := transfer.FeeCap()
	if err == nil {
		each, err = each.Add(transfer.Value)
	}
	if err != nil {
		return 0, err
	}
	return types.Gas(count).Cost(each)
}

// fund reads senders' nonces and balances, and tops up balances below need.
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
		signed, err := client.Sign(ctx, signer, types.Transaction{
			Sender:               treasury.PublicKey(),
			Target:               to[i],
			ChainID:              t.chainID,
			Nonce:                nonce + uint64(i),
			GasLimit:             t.gas,
			MaxFeePerGas:         t.maxFee,
			MaxPriorityFeePerGas: 1,
			Value:                amounts[i],
			Payload:              types.Transfer{},
		})
		if err != nil {
			return answer, err
		}
		return client.Add(b, api.SendRawTransaction, api.RawTransactionParams{Transaction: signed.Encode()}), nil
	})
}

// submit sends count transactions of one account, which add appends to a batch, and waits, wave by wave, until they are
// in blocks. It returns an error if the last transaction of a wave fails; failures of others show in the load.
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
		receipt, err := t.client.WaitReceipt(ctx, last) // an account's transactions are included in order
		if err != nil {
			return err
		}
		if err := client.Failure(receipt); err != nil {
			return err
		}
	}
	return nil
}

// transfer returns a sender's index-th transfer: one unit of coins or of the token to another sender. Senders with
// neighbouring numbers do not pay each other, so a block of transfers from half of the senders touches all of them.
func (t *Cairn) transfer(sender, index int) types.Transaction {
	s := t.senders[sender]
	to := t.senders[(sender+len(t.senders)/2+index)%len(t.senders)].account
	if t.token != nil {
		return t.transaction(s, index, t.token.gas, t.token.transfer(to, 1))
	}
	return t.transaction(s, index, t.gas, client.Transfer(to, 1))
}

// transaction returns a sender's index-th transaction, counted from its next nonce.
func (t *Cairn) transaction(s cairnSender, index int, gas types.Gas, action client.Action) types.Transaction {
	return types.Transaction{
		Sender:               s.account,
		Target:               action.Target,
		ChainID:              t.chainID,
		Nonce:                s.nonce + uint64(index),
		GasLimit:             gas,
		MaxFeePerGas:         t.maxFee,
		MaxPriorityFeePerGas: 1,
		Value:                action.Value,
		Payload:              action.Payload,
	}
}

// Transfers implements [Target].
func (t *Cairn) Transfers(sender, first, count int) ([]Call, error) {
	txs := make([]types.Transaction, count)
	for i := range txs {
		txs[i] = t.transfer(sender, first+i)
	}
	signed, err := client.SignAll(context.Background(), t.senders[sender].signer, txs)
	if err != nil {
		return nil, err
	}
	calls := make([]Call, count)
	for i := range signed {
		tx := types.NewTx(signed[i])
		id := [32]byte(tx.ID())
		calls[i] = NewCall(api.SendRawTransaction.Name, `["0x`+hex.EncodeToString(tx.Encoded())+`"]`, &id)
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
