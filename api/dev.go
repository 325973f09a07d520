package api

import "github.com/cairn-chain/cairn/types"

// DevelopmentChainID is the only chain id on which the dev_ methods exist.
const DevelopmentChainID = 31337

// DevelopmentMnemonic is the publicly known BIP-39 sentence whose keys own a development chain's coins.
const DevelopmentMnemonic = "test test test test test test test test test test test junk"

// Methods of development chains.
var (
	DevMine = define[DevMineParams, Quantity]("dev_mine",
		"Makes blocks at once, even empty ones, and returns the height of the last.", ErrOutOfRange)
	DevSetBlockTime = define[DevSetBlockTimeParams, bool]("dev_setBlockTime",
		"Changes when blocks are made: by a clock, at once for each transaction, or by dev_mine only.", ErrOutOfRange)
	DevIncreaseTime = define[DevIncreaseTimeParams, int64]("dev_increaseTime",
		"Moves the chain's time forward and returns its total lead over the clock in seconds.", ErrOutOfRange)
	DevSetNextBlockTime = define[DevSetNextBlockTimeParams, bool]("dev_setNextBlockTime",
		"Sets the next block's timestamp; the clock continues from there.", ErrOutOfRange)
	DevSnapshot = define[NoParams, Quantity]("dev_snapshot", "Makes a snapshot of the current block; returns its id.")
	DevRevert   = define[DevRevertParams, bool]("dev_revert",
		"Reverts the chain to a snapshot, which removes it and later ones.", ErrNoSnapshot)
	DevFund = define[DevFundParams, types.TxID]("dev_fund",
		"Sends coins from the development treasury and returns the transfer's hash.",
		with(admissionErrors, ErrBadAccount, ErrWrongNetwork, ErrOutOfRange)...)
)

// Bounds of the dev_ methods.
const (
	MaxMine        = 10_000
	MaxBlockTimeMS = 24 * 60 * 60 * 1000
)

// DevMineParams are the parameters of [DevMine].
type DevMineParams struct {
	Count *uint64 `json:"count" jsonrpc:"optional" doc:"how many blocks, 1 to 10,000; 1 by default"`
}

// DevSetBlockTimeParams are the parameters of [DevSetBlockTime].
type DevSetBlockTimeParams struct {
	Milliseconds *uint64 `json:"milliseconds" doc:"between two blocks; 0: at once for each transaction; null: by dev_mine only"`
}

// DevIncreaseTimeParams are the parameters of [DevIncreaseTime].
type DevIncreaseTimeParams struct {
	Seconds uint64 `json:"seconds" doc:"how far"`
}

// DevSetNextBlockTimeParams are the parameters of [DevSetNextBlockTime].
type DevSetNextBlockTimeParams struct {
	Time uint64 `json:"time" doc:"Unix seconds, not before the latest block's"`
}

// DevRevertParams are the parameters of [DevRevert].
type DevRevertParams struct {
	Snapshot LooseQuantity `json:"snapshot" doc:"an id that dev_snapshot gave"`
}

// DevFundParams are the parameters of [DevFund].
type DevFundParams struct {
	Account string        `json:"account" doc:"a taproot address, or a public key in hex"`
	Amount  LooseQuantity `json:"amount" doc:"in smallest native units, at least 1"`
}
