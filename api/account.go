package api

import (
	"errors"

	"github.com/cairn-chain/cairn/types"
)

// Methods about who may sign for an account.
var (
	GetAccount = define[GetAccountParams, Account]("svc_getAccount",
		"An account after a block: its balance, nonce and authority, and a pending recovery.",
		ErrBadAccount, ErrWrongNetwork, ErrAboveHead, ErrPruned, ErrHalted, ErrNoState)
	GetSigningText = define[SigningTextParams, SigningText]("svc_getSigningText",
		"The hash and the text that the sender or the payer of a transaction signs. SDKs compute both, and "+
			"devices should.", ErrUndecodable, ErrWrongChain, ErrBadPayer)
	VerifyMessage = define[VerifyMessageParams, MessageVerdict]("svc_verifyMessage",
		"Whether an account of any kind signed a message, by the rules of the host function account_verify.",
		ErrBadAccount, ErrWrongNetwork, ErrUndecodable, ErrOutOfRange, ErrAboveHead, ErrPruned, ErrHalted, ErrNoState)
)

// Bounds of [VerifyMessage], the same as for the host function account_verify.
const (
	MaxMessageBytes        = 1024
	MaxMessageWitnessBytes = 8192
)

// GetAccountParams are the parameters of [GetAccount].
type GetAccountParams struct {
	Account string   `json:"account" doc:"a taproot address, or 32 bytes in hex"`
	Block   BlockRef `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// Account is the result of [GetAccount].
type Account struct {
	Account     types.Account    `json:"account" doc:"the account"`
	Address     string           `json:"address" doc:"its address. Unless the account is a key's, Bitcoin sent there is lost"`
	BlockHeight types.Height     `json:"blockHeight" doc:"the height of the block"`
	Balance     Quantity         `json:"balance" doc:"its balance in smallest units"`
	Nonce       Quantity         `json:"nonce" doc:"the number of its transactions that are included"`
	Authority   types.Account    `json:"authority" doc:"who may sign for it at the block's time: the account itself, or the hash of a policy"`
	Policy      *types.Policy    `json:"policy" doc:"the policy whose hash the authority is; null if there is none, or if no transaction has shown it"`
	Recovery    *PendingRecovery `json:"recovery" doc:"the pending recovery; null if there is none"`
	Contract    bool             `json:"contract" doc:"whether it is a contract"`
}

// PendingRecovery is a change of an account's authority that takes effect after a delay. A SetPolicy of the account
// cancels it.
type PendingRecovery struct {
	Authority types.Account `json:"authority" doc:"the account's authority from then on: who may sign"`
	Policy    *types.Policy `json:"policy" doc:"the policy whose hash that is; null if there is none, or it is unknown"`
	From      uint64        `json:"from" doc:"when it takes effect, in milliseconds of Unix time"`
}

// SigningTextParams are the parameters of [GetSigningText].
type SigningTextParams struct {
	Transaction LooseData `json:"transaction" doc:"the unsigned form: the version byte and bincode(Transaction); or bincode(SignedTransaction)"`
	Role        Role      `json:"role" jsonrpc:"optional" doc:"sender or payer; sender by default"`
}

// Role selects the witness of the sender or of the payer.
type Role string

// The roles of those who sign a transaction.
const (
	RoleSender Role = "sender"
	RolePayer  Role = "payer"
)

// UnmarshalText accepts only the declared roles.
func (r *Role) UnmarshalText(text []byte) error {
	if role := Role(text); role == RoleSender || role == RolePayer {
		*r = role
		return nil
	}
	return errors.New("a role is sender or payer")
}

// SigningText is the result of [GetSigningText].
type SigningText struct {
	Role     Role          `json:"role" doc:"who signs: sender or payer"`
	Account  types.Account `json:"account" doc:"the account that signs"`
	Hash     types.Digest  `json:"hash" doc:"the 32 bytes that a key signs: of the sender the transaction's hash"`
	ID       types.TxID    `json:"id" doc:"the transaction's hash, whoever signs"`
	Text     *string       `json:"text" doc:"the text; null if valid_until is after the year 9999"`
	Signable bool          `json:"signable" doc:"whether a witness may sign the text: it has at most 4,096 bytes"`
}

// VerifyMessageParams are the parameters of [VerifyMessage].
type VerifyMessageParams struct {
	Account  string            `json:"account" doc:"a taproot address, or 32 bytes in hex"`
	Message  LooseData         `json:"message" doc:"the message, 1,024 bytes at most"`
	Witness  LooseData         `json:"witness" doc:"bincode(Witness), 8,192 bytes at most"`
	Contract *types.ContractID `json:"contract" jsonrpc:"optional" doc:"the contract that the message is for; by default none, 32 zero bytes"`
	Block    BlockRef          `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// MessageVerdict is the result of [VerifyMessage].
type MessageVerdict struct {
	Valid     bool          `json:"valid" doc:"whether the account signed the message"`
	Reason    *string       `json:"reason" doc:"why not: wrong_policy (another authority's witness), bad_policy or bad_signature; null if it did"`
	Authority types.Account `json:"authority" doc:"who may sign for the account at the block's time"`
	Hash      types.Digest  `json:"hash" doc:"the 32 bytes that a key signs"`
	Text      string        `json:"text" doc:"the text that a Bitcoin wallet signs"`
}
