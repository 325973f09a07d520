package rpc

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// subscribe and unsubscribe exist for messages of WebSocket connections only.
func (s *Server) subscribe(ctx context.Context, p api.SubscribeParams) (api.Quantity, error) {
	to := request.Of(ctx).Subscriber
	if to == nil {
		return 0, onlyOverWebSocket(api.Subscribe.Name)
	}
	return to.Subscribe(p)
}

func (s *Server) unsubscribe(ctx context.Context, p api.UnsubscribeParams) (bool, error) {
	to := request.Of(ctx).Subscriber
	if to == nil {
		return false, onlyOverWebSocket(api.Unsubscribe.Name)
	}
	return to.Unsubscribe(p.ID)
}

func onlyOverWebSocket(method string) error {
	return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "the method exists over WebSocket only", "method", method)
}

// Block renders the block of a height with hashes; nil where there is none, chain.ErrPruned where it is no longer kept.
func (s *Server) Block(height types.Height) (*api.Block, error) { return s.block(height, false) }

// BlockHeader renders the block of a height without its transactions; nil where there is none, chain.ErrPruned where it is no
// longer kept.
func (s *Server) BlockHeader(height types.Height) (*api.Block, error) {
	encoded, err := s.chain.EncodedBlock(height)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	block := newBlock(encoded, nil)
	return &block, nil
}

// Events are all events of a block in their order; nil where there is none, chain.ErrPruned where it is no longer kept.
func (s *Server) Events(height types.Height) ([]api.Event, error) {
	receipts, err := s.chain.Receipts(height)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	events := []api.Event{}
	for i, receipt := range receipts {
		for _, log := range receipt.Logs {
			index := uint32(len(events))
			events = append(events, newEvent(newLog(log, height, index), receipt.Transaction, uint32(i)))
		}
	}
	return events, nil
}

// EventPosition is the block and the index in it that an event's cursor stands for.
func (s *Server) EventPosition(text string) (types.Height, uint32, error) {
	p, ok := parsePosition(text)
	if !ok {
		return 0, 0, withData(api.ErrBadCursor, "param", "filter", "member", "cursor")
	}
	return p.Height, p.Index, nil
}
