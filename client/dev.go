package client

import (
	"context"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// Dev has the methods of a development chain (chain id 31337); elsewhere they fail with the code -32601.
type Dev struct {
	client *Client
}

// Dev returns the methods of a development chain.
func (c *Client) Dev() Dev { return Dev{client: c} }

// Mine makes blocks at once, 1 to [api.MaxMine], and returns the height of the last.
func (d Dev) Mine(ctx context.Context, blocks uint64) (types.Height, error) {
	height, err := Invoke(ctx, d.client, api.DevMine, api.DevMineParams{Count: &blocks})
	return types.Height(height), err
}

// SetBlockTime makes the node produce blocks at an interval, in whole milliseconds; 0: one at once for each
// transaction.
func (d Dev) SetBlockTime(ctx context.Context, interval time.Duration) error {
	milliseconds := uint64(interval.Milliseconds())
	return d.setBlockTime(ctx, &milliseconds)
}

// SetManual makes the node produce blocks only by [Dev.Mine].
func (d Dev) SetManual(ctx context.Context) error { return d.setBlockTime(ctx, nil) }

func (d Dev) setBlockTime(ctx context.Context, milliseconds *uint64) error {
	_, err := Invoke(ctx, d.client, api.DevSetBlockTime, api.DevSetBlockTimeParams{Milliseconds: milliseconds})
	return err
}

// IncreaseTime moves the chain's time forward by whole seconds, and returns its total lead over the clock.
func (d Dev) IncreaseTime(ctx context.Context, by time.Duration) (ahead time.Duration, err error) {
	seconds, err := Invoke(
		ctx, d.client, api.DevIncreaseTime, api.DevIncreaseTimeParams{Seconds: uint64(by / time.Second)},
	)
	return time.Duration(seconds) * time.Second, err
}

// SetNextBlockTime sets the next block's timestamp, in Unix seconds; time continues from there.
func (d Dev) SetNextBlockTime(ctx context.Context, at uint64) error {
	_, err := Invoke(ctx, d.client, api.DevSetNextBlockTime, api.DevSetNextBlockTimeParams{Time: at})
	return err
}

// Snapshot remembers the present block and returns the snapshot's id.
func (d Dev) Snapshot(ctx context.Context) (uint64, error) {
	id, err := Invoke(ctx, d.client, api.DevSnapshot, api.NoParams{})
	return uint64(id), err
}

// Revert takes the chain back to a snapshot, and deletes that snapshot and all later ones.
func (d Dev) Revert(ctx context.Context, snapshot uint64) error {
	_, err := Invoke(ctx, d.client, api.DevRevert, api.DevRevertParams{Snapshot: api.LooseQuantity(snapshot)})
	if err == nil {
		d.client.forget()
	}
	return err
}

// Fund sends coins from the development treasury and returns the transfer's hash.
func (d Dev) Fund(ctx context.Context, account types.Account, amount types.Amount) (types.TxID, error) {
	params := api.DevFundParams{Account: account.String(), Amount: api.LooseQuantity(amount)}
	return Invoke(ctx, d.client, api.DevFund, params)
}
