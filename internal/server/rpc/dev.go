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

func (s *Server) devMine(ctx context.Context, p api.DevMineParams) (api.Quantity, error) {
	count, err := limit("count", p.Count, 1, api.MaxMine)
	if err != nil {
		return 0, err
	}
	err = s.developer.Mine(ctx, uint64(count))
	return api.Quantity(s.chain.Head().Header.Height), err
}

func (s *Server) devSetBlockTime(_ context.Context, p api.DevSetBlockTimeParams) (bool, error) {
	interval := sequencer.Manual
	if p.Milliseconds != nil {
		if *p.Milliseconds > api.MaxBlockTimeMS {
			return false, outOfRange("milliseconds", 0, api.MaxBlockTimeMS)
		}
		interval = time.Duration(*p.Milliseconds) * time.Millisecond
	}
	s.developer.SetBlockTime(interval)
	return true, nil
}

func (s *Server) devIncreaseTime(_ context.Context, p api.DevIncreaseTimeParams) (int64, error) {
	return s.developer.IncreaseTime(p.Seconds)
}

func (s *Server) devSetNextBlockTime(_ context.Context, p api.DevSetNextBlockTimeParams) (bool, error) {
	err := s.developer.SetNextBlockTime(p.Time)
	if errors.Is(err, sequencer.ErrTimeInPast) {
		return false, jsonrpc.InvalidParam("time", "the time is before the latest block's", "reason", "out_of_range",
			"min", s.chain.Head().Header.Timestamp)
	}
	return err == nil, err
}

func (s *Server) devSnapshot(ctx context.Context, _ api.NoParams) (api.Quantity, error) {
	id, err := s.developer.Snapshot(ctx)
	return api.Quantity(id), err
}

func (s *Server) devRevert(ctx context.Context, p api.DevRevertParams) (bool, error) {
	err := s.developer.Revert(ctx, uint64(p.Snapshot))
	return err == nil, err
}

func (s *Server) devFund(ctx context.Context, p api.DevFundParams) (types.TxID, error) {
	account, err := s.account(p.Account)
	if err != nil {
		return types.TxID{}, err
	}
	if p.Amount == 0 {
		return types.TxID{}, jsonrpc.InvalidParam("amount", "the amount is at least 1", "reason", "out_of_range", "min", 1)
	}
	return s.developer.Fund(ctx, account, types.Amount(p.Amount))
}
