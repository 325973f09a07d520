package rpc

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

type devHandlers struct {
	developer Developer
	chain     headers
	network   types.Network
}

func (h *devHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.DevMine, h.devMine).in(nil),
		bind(e, api.DevSetBlockTime, h.devSetBlockTime),
		bind(e, api.DevIncreaseTime, h.devIncreaseTime),
		bind(e, api.DevSetNextBlockTime, h.devSetNextBlockTime),
		bind(e, api.DevSnapshot, h.devSnapshot).in(nil),
		bind(e, api.DevRevert, h.devRevert).in(nil),
		bind(e, api.DevFund, h.devFund).in(nil),
	}
}

func (h *devHandlers) devMine(ctx context.Context, p api.DevMineParams) (api.Quantity, error) {
	count, err := limit("count", p.Count, 1, api.MaxMine)
	if err != nil {
		return 0, err
	}
	err = h.developer.Mine(ctx, uint64(count))
	return api.Quantity(h.chain.Head().Header.Height), err
}

func (h *devHandlers) devSetBlockTime(_ context.Context, p api.DevSetBlockTimeParams) (bool, error) {
	interval := sequencer.Manual
	if p.Milliseconds != nil {
		if *p.Milliseconds > api.MaxBlockTimeMS {
			return false, outOfRange("milliseconds", 0, api.MaxBlockTimeMS)
		}
		interval = time.Duration(*p.Milliseconds) * time.Millisecond
	}
	h.developer.SetBlockTime(interval)
	return true, nil
}

func (h *devHandlers) devIncreaseTime(_ context.Context, p api.DevIncreaseTimeParams) (int64, error) {
	ahead, err := h.developer.IncreaseTime(p.Seconds)
	return ahead, tooFar("seconds", 0, err)
}

func (h *devHandlers) devSetNextBlockTime(_ context.Context, p api.DevSetNextBlockTimeParams) (bool, error) {
	err := h.developer.SetNextBlockTime(p.Time)
	if errors.Is(err, sequencer.ErrTimeInPast) {
		return false, jsonrpc.InvalidParam("time", "the time is before the latest block's", "reason", "out_of_range",
			"min", h.earliest())
	}
	return err == nil, tooFar("time", h.earliest(), err)
}

// earliest returns the second of the latest block.
func (h *devHandlers) earliest() uint64 { return seconds(h.chain.Head().Header.Timestamp) }

// tooFar adds the allowed range to the error for a time beyond it. It returns other errors unchanged.
func tooFar(param string, minimum uint64, err error) error {
	if far, ok := errors.AsType[*sequencer.TimeTooFarError](err); ok {
		return outOfRange(param, minimum, far.Max)
	}
	return err
}

func (h *devHandlers) devSnapshot(ctx context.Context, _ api.NoParams) (api.Quantity, error) {
	id, err := h.developer.Snapshot(ctx)
	return api.Quantity(id), err
}

func (h *devHandlers) devRevert(ctx context.Context, p api.DevRevertParams) (bool, error) {
	err := h.developer.Revert(ctx, uint64(p.Snapshot))
	return err == nil, err
}

func (h *devHandlers) devFund(ctx context.Context, p api.DevFundParams) (types.TxID, error) {
	account, err := parseAccount(h.network, p.Account)
	if err != nil {
		return types.TxID{}, err
	}
	if p.Amount == 0 {
		return types.TxID{}, jsonrpc.InvalidParam("amount", "the amount must be at least 1", "reason", "out_of_range", "min", 1)
	}
	return h.developer.Fund(ctx, account, types.Amount(p.Amount))
}
