package rpc

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

type contractHandlers struct {
	*prover
	chain codeStore
	views *viewHandlers
}

func (h *contractHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.GetStorageAt, h.getStorageAt),
		bind(e, api.GetStorageProof, h.getStorageProof).waiting(),
		bind(e, api.ListContracts, h.listContracts),
		bind(e, api.GetContract, h.getContract),
		bind(e, api.GetContractABI, h.getContractAbi),
		bind(e, api.GetContractCode, h.getContractCode),
		bind(e, api.GetCode, h.getCode),
	}
}

// contractRecord returns a contract's record, or [api.ErrNoContract] if there is none.
func contractRecord(st *chain.State, id types.ContractID) (state.Contract, error) {
	row, err := st.Get(state.ContractKey(id))
	if err != nil {
		return state.Contract{}, err
	}
	if len(row) == 0 {
		return state.Contract{}, api.ErrNoContract
	}
	return state.DecodeContract(row)
}

// atHead calls f with the state of the head.
func atHead[R any](h *contractHandlers, f func(*chain.State) (R, error)) (result R, err error) {
	st, err := h.chain.StateAt(h.chain.Head().Header.Height)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return f(st)
}

// contract renders a contract.
func (h *contractHandlers) contract(st *chain.State, id types.ContractID) (api.Contract, error) {
	record, err := contractRecord(st, id)
	if err != nil {
		return api.Contract{}, err
	}
	size, err := h.chain.CodeSize(record.CodeHash)
	return api.Contract{
		ID:         id,
		Name:       record.Name,
		Deployer:   record.Deployer,
		DeployedAt: record.Height,
		CodeHash:   record.CodeHash,
		CodeSize:   uint64(size),
	}, err
}

func (h *contractHandlers) getContract(_ context.Context, p api.ContractParams) (*api.Contract, error) {
	return atHead(h, func(st *chain.State) (*api.Contract, error) {
		contract, err := h.contract(st, p.Contract)
		if errors.Is(err, api.ErrNoContract) {
			return nil, nil
		}
		return &contract, err
	})
}

func (h *contractHandlers) listContracts(_ context.Context, p api.ListContractsParams) ([]api.Contract, error) {
	count, err := limit("limit", p.Limit, api.DefaultContracts, api.MaxContracts)
	if err != nil {
		return nil, err
	}
	var after chain.Position
	if p.Cursor != "" {
		var ok bool
		if after, ok = parseContractCursor(p.Cursor); !ok {
			return nil, withData(api.ErrBadCursor, "param", "cursor")
		}
	}
	return atHead(h, func(st *chain.State) ([]api.Contract, error) {
		deployed, err := st.Contracts(after, count)
		contracts := make([]api.Contract, len(deployed))
		for i := range deployed {
			if err != nil {
				break
			}
			contracts[i], err = h.contract(st, deployed[i].Contract)
			contracts[i].Cursor = contractCursor(deployed[i].Position)
		}
		return contracts, err
	})
}

// A contract's cursor is the height and index of its deploy, big-endian, in hex. It has no block hash, since the block
// may be pruned.
const contractCursorBytes = 8 + 4

func contractCursor(p chain.Position) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, contractCursorBytes), uint64(p.Height))
	return hex.EncodeToString(binary.BigEndian.AppendUint32(b, p.Index))
}

// parseContractCursor parses a cursor that contractCursor returned; it returns false for any other text.
func parseContractCursor(text string) (p chain.Position, ok bool) {
	b, err := hex.DecodeString(text[:min(len(text), 2*contractCursorBytes+1)])
	if err != nil || len(b) != contractCursorBytes {
		return p, false
	}
	return chain.Position{Height: types.Height(binary.BigEndian.Uint64(b)), Index: binary.BigEndian.Uint32(b[8:])}, true
}

func (h *contractHandlers) getContractCode(_ context.Context, p api.ContractParams) (api.Data, error) {
	return atHead(h, func(st *chain.State) (api.Data, error) {
		record, err := contractRecord(st, p.Contract)
		if err != nil {
			return nil, err
		}
		return h.chain.Code(record.CodeHash)
	})
}

func (h *contractHandlers) getCode(_ context.Context, p api.CodeParams) (api.Data, error) {
	code, err := h.chain.Code(p.CodeHash)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, api.ErrNoCode
	}
	return code, err
}

func (h *contractHandlers) getContractAbi(ctx context.Context, p api.ContractParams) (*abi.ABI, error) {
	code, err := h.getContractCode(ctx, p)
	if err != nil {
		return nil, err
	}
	declared, err := abi.FromCode(code)
	if err != nil {
		return nil, nil // there is none that can be read
	}
	return &declared, nil
}

func (h *contractHandlers) getStorageAt(_ context.Context, p api.GetStorageAtParams) (value api.Data, err error) {
	v, err := h.views.view(p.Block)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	if _, err := contractRecord(v.state, p.Contract); err != nil {
		return nil, err
	}
	if err := checkStorageKey(p.Key); err != nil {
		return nil, err
	}
	return v.state.Get(state.StorageKey(p.Contract, p.Key))
}

func checkStorageKey(key []byte) error {
	if len(key) > types.MaxStorageKeyBytes {
		return jsonrpc.InvalidParam(
			"key", "a storage key must have at most 256 bytes", "reason", "out_of_range", "max", types.MaxStorageKeyBytes,
		)
	}
	return nil
}

func (h *contractHandlers) getStorageProof(ctx context.Context, p api.GetStorageProofParams) (api.AccountProof, error) {
	if err := checkStorageKey(p.Key); err != nil {
		return api.AccountProof{}, err
	}
	return h.proof(ctx, state.StorageKey(p.Contract, p.Key), p.Block)
}
