package loadgen

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

const (
	// tokenSupply is a sender's token balance before a load: at least as much as it can transfer.
	tokenSupply = MaxTransfers
	// tokenDeployGas and tokenMoveGas bound the gas of the token's deploy and of a transfer of it, for funding the
	// senders.
	tokenDeployGas types.Gas = 60_000_000
	tokenMoveGas   types.Gas = 500_000
	// binaryForm is the first byte of binary arguments (docs/protocol.md).
	binaryForm = 0x01
)

// token is the reference token, deployed for one run.
type token struct {
	contract types.ContractID
	gas      types.Gas // of a transfer between two holders
}

// transfer returns a token payment with binary arguments, as wallets send it: the form byte, the account and the
// amount.
func (t *token) transfer(to types.Account, units uint64) client.Action {
	args := binary.LittleEndian.AppendUint64(append([]byte{binaryForm}, to[:]...), units)
	return client.CallEncoded(t.contract, "transfer", args, 0)
}

// read returns a view call of an account's balance.
func (t *token) read(account types.Account) Call {
	args := fmt.Appendf(nil, `{"address":%q}`, account)
	return NewCall(api.ViewCall.Name, fmt.Sprintf(`[%q,"balanceOf","0x%s"]`, t.contract, hex.EncodeToString(args)), nil)
}

// prepareToken deploys the token from a separate account and sends some to each sender.
func (t *Cairn) prepareToken(ctx context.Context, treasury *crypto.PrivateKey, note func(string)) error {
	issuer, err := newSender(treasury, "token")
	if err != nil {
		return err
	}
	gas := tokenDeployGas + types.Gas(len(t.senders))*tokenMoveGas
	need, err := gas.Cost(t.maxFee + 1)
	if err != nil {
		return err
	}
	funded := []cairnSender{issuer}
	if err := t.fund(ctx, funded, need, treasury, note); err != nil {
		return err
	}
	issuer = funded[0] // the deploy uses its nonce
	note("deploying a token")
	supply := uint64(len(t.senders)+1) * tokenSupply
	made := &token{contract: types.NewContractID(issuer.account, issuer.nonce)}
	args := fmt.Appendf(nil, `{"name":"Bench","symbol":"BNC","decimals":0,"initialSupply":%d}`, supply)
	deploy := client.Action{Payload: types.Deploy{Name: "bench", Code: contracts.Token(), InitArgs: args}}
	if err := t.include(ctx, issuer, 0, tokenDeployGas, deploy); err != nil {
		return err
	}
	note(fmt.Sprintf("giving %d senders tokens", len(t.senders)))
	gifts := make([]client.Action, len(t.senders))
	for i, s := range t.senders {
		gifts[i] = made.transfer(s.account, tokenSupply)
	}
	if err := t.include(ctx, issuer, 1, tokenMoveGas, gifts...); err != nil {
		return err
	}
	// Issuer and senders hold tokens by now, so the estimate fits the transfers of the load.
	made.gas, err = t.client.EstimateGas(ctx, t.transaction(issuer, 0, 0, made.transfer(t.senders[0].account, 1)),
		issuer.signer, nil)
	t.token = made
	return err
}

// include sends transactions of one sender, beginning with its index-th, and waits until they are in blocks, as
// [Cairn.submit] does.
func (t *Cairn) include(ctx context.Context, s cairnSender, index int, gas types.Gas, actions ...client.Action) error {
	txs := make([]types.Transaction, len(actions))
	for i, action := range actions {
		txs[i] = t.transaction(s, index+i, gas, action)
	}
	signed, err := client.SignAll(ctx, s.signer, txs)
	if err != nil {
		return err
	}
	return t.submit(ctx, len(signed), func(b *client.Batch, i int) (client.Pending[types.TxID], error) {
		return client.Add(b, api.SendRawTransaction, api.RawTransactionParams{Transaction: signed[i].Encode()}), nil
	})
}
