package snapshot

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// codeUse records the use of a code by the state's contracts.
type codeUse struct {
	since types.Height // height of the first contract that uses it
	there bool         // whether the code was read
}

// reader verifies that the chunks fit together.
type reader struct {
	manifest Manifest
	header   types.SignedHeader
	trust    Trust
	sink     sink

	// The parts that the importer needs beside the sink's contents.
	genesis types.Genesis
	zero    types.SignedHeader // block 0
	block   chain.Entry

	genesisBytes, blockBytes []byte
	touched                  map[string][]byte // values of the block's accesses that are not yet found in the state

	run    provenRun // last run; its entries have been passed to sink
	runEnd chain.StateEntry

	// The fields below are counts and sums over the chunks. They must match the manifest, the supply and the lists.
	accounts  uint64
	deployed  uint64
	stored    uint64
	supply    state.Supply
	balances  types.Amount
	codes     map[types.CodeHash]codeUse
	lastHash  types.Account // of a policy
	lastList  chain.Deployment
	lastToken chain.TokenSum
	// contracts is a sum of hashes: one for each of the state's contracts with its height, minus one for each listed
	// contract. The hashes are seeded, so that nobody can predict them.
	contracts uint64
	seed      maphash.Seed
}

func (r *reader) add(c content) error {
	switch c.kind {
	case KindGenesis:
		return r.join(&r.genesisBytes, c.piece, maxGenesis)
	case KindBlock:
		return r.join(&r.blockBytes, c.piece, maxBlock)
	case KindState:
		return r.addRun(c.run)
	case KindCode:
		return r.addCodes(c.codes)
	case KindPolicies:
		return r.addPolicies(c.policies)
	case KindContracts:
		return r.addContracts(c.contracts)
	default:
		return r.addHolders(c.holders)
	}
}

// join appends a piece to data that is split into several.
func (r *reader) join(to *[]byte, piece []byte, limit int) error {
	if len(*to)+len(piece) > limit {
		return fmt.Errorf("%w: it has more than %d bytes in all", ErrFalse, limit)
	}
	*to = append(*to, piece...)
	return nil
}

// begin decodes the genesis and the block once their last pieces are read.
func (r *reader) begin() (err error) {
	if r.touched != nil {
		return nil
	}
	if r.genesis, r.zero, err = decodeGenesis(r.genesisBytes); err != nil {
		return err
	}
	if err := r.trust.checkGenesis(r.manifest, r.header, r.genesis, r.zero.Header.Hash()); err != nil {
		return err
	}
	if r.block, err = decodeExecuted(r.blockBytes, r.header); err != nil {
		return fmt.Errorf("%w: its block: %w", ErrFalse, err)
	}
	r.touched = make(map[string][]byte, len(r.block.Accesses))
	for _, a := range r.block.Accesses {
		r.touched[string(a.Key)] = a.New
	}
	return nil
}

// decodeGenesis decodes a genesis and derives its block 0.
func decodeGenesis(data []byte) (types.Genesis, types.SignedHeader, error) {
	g, err := types.DecodeGenesis(data)
	if err != nil {
		return g, types.SignedHeader{}, fmt.Errorf("%w: its genesis: %w", ErrFalse, err)
	}
	zero, err := ledger.GenesisBlock(g)
	if err != nil {
		return g, zero, fmt.Errorf("%w: its genesis: %w", ErrFalse, err)
	}
	return g, zero, nil
}

// addRun adds the next run of the state, which must begin where the last one ended.
func (r *reader) addRun(run provenRun) error {
	if err := r.begin(); err != nil {
		return err
	}
	switch {
	case r.run.chain == nil && run.before != nil:
		return fmt.Errorf("%w: it is not the first chunk of the state", ErrFalse)
	case r.run.chain != nil && (run.before == nil || *run.before != r.runEnd.Path):
		return fmt.Errorf("%w: it does not start where the previous chunk ends", ErrFalse)
	}
	for _, e := range run.chain {
		if err := r.entry(e); err != nil {
			return err
		}
	}
	r.run, r.runEnd = run, run.chain[len(run.chain)-1]
	return nil
}

func (r *reader) entry(e chain.StateEntry) (err error) {
	if value, touched := r.touched[string(e.Key)]; touched {
		if !bytes.Equal(value, e.Value) {
			return fmt.Errorf("%w: state key %x differs from the block's result", ErrFalse, e.Key)
		}
		delete(r.touched, string(e.Key))
	}
	switch domain := state.Domain(e.Key[0]); {
	case domain == state.DomainAccount && len(e.Key) == 33:
		r.accounts++
		var account state.Account
		if account, err = state.DecodeAccount(types.Account(e.Key[1:]), e.Value); err == nil {
			r.balances, err = r.balances.Add(account.Balance)
		}
	case domain == state.DomainContract && len(e.Key) == 33:
		r.deployed++
		err = r.contract(types.ContractID(e.Key[1:]), e.Value)
	case domain == state.DomainStorage && len(e.Key) >= 33:
		r.stored++
	case bytes.Equal(e.Key, state.SupplyKey()):
		r.supply, err = state.DecodeSupply(e.Value)
	case bytes.Equal(e.Key, state.ParametersKey()):
		err = checkParameters(e.Value)
	default:
		err = errors.New("there is no such key")
	}
	if err != nil {
		return fmt.Errorf("%w: state key %x: %w", ErrFalse, e.Key, err)
	}
	return r.sink.PutState(e)
}

// checkParameters rejects parameters with which this program cannot continue.
func checkParameters(value []byte) error {
	p, err := types.DecodeParameters(value)
	switch {
	case err != nil:
		return err
	case !params.Known(p.Version):
		return fmt.Errorf("parameters of protocol version %d, which this program does not support", p.Version)
	}
	return params.Check(p)
}

func (r *reader) contract(id types.ContractID, value []byte) error {
	contract, err := state.DecodeContract(value)
	if err != nil {
		return err
	}
	r.contracts += r.hash(id, contract.Height)
	use, known := r.codes[contract.CodeHash]
	if !known || contract.Height < use.since {
		use.since = contract.Height
	}
	r.codes[contract.CodeHash] = use
	return nil
}

func (r *reader) hash(id types.ContractID, height types.Height) uint64 {
	return maphash.Comparable(r.seed, struct {
		id     types.ContractID
		height types.Height
	}{id, height})
}

func (r *reader) addCodes(codes [][]byte) error {
	for _, code := range codes {
		hash := types.CodeHash(sha256.Sum256(code))
		use, known := r.codes[hash]
		switch {
		case !known:
			return fmt.Errorf("%w: no contract has the code %s", ErrFalse, hash)
		case use.there:
			return fmt.Errorf("%w: the code %s comes twice", ErrFalse, hash)
		}
		use.there = true
		r.codes[hash] = use
		if err := r.sink.PutCode(hash, code, use.since); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) addPolicies(policies []types.Policy) error {
	for _, p := range policies {
		hash := p.Hash()
		if r.lastHash.Compare(hash) >= 0 {
			return fmt.Errorf("%w: policy %s does not ascend", ErrFalse, hash)
		}
		r.lastHash = hash
		if err := r.sink.PutPolicy(p, r.manifest.Height); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) addContracts(contracts []chain.Deployment) error {
	for _, d := range contracts {
		if !follows(r.lastList, d) {
			return fmt.Errorf("%w: contract %s is not the next", ErrFalse, d.Contract)
		}
		r.lastList = d
		r.contracts -= r.hash(d.Contract, d.Height)
		if err := r.sink.PutDeployment(d); err != nil {
			return err
		}
	}
	return nil
}

// follows reports whether a contract can come after the last one of the list: a block's contracts are numbered from 0,
// ascending by ID.
func follows(last, next chain.Deployment) bool {
	if next.Height != last.Height {
		return next.Height > last.Height && next.Index == 0
	}
	return next.Index == last.Index+1 && last.Contract.Compare(next.Contract) < 0
}

func (r *reader) addHolders(holders []chain.TokenSum) error {
	for _, h := range holders {
		if compareHolders(r.lastToken, h) >= 0 {
			return fmt.Errorf("%w: holder %s does not ascend", ErrFalse, h.Account)
		}
		r.lastToken = h
		if err := r.sink.PutHolder(h); err != nil {
			return err
		}
	}
	return nil
}

// finish checks that nothing is missing.
func (r *reader) finish() error {
	refuse := func(text string, args ...any) error {
		return fmt.Errorf("%w: "+text, append([]any{ErrFalse}, args...)...)
	}
	for key, value := range r.touched {
		if len(value) > 0 {
			return refuse("state key %x, which its block left, is not there", key)
		}
	}
	for hash, use := range r.codes {
		if !use.there {
			return refuse("the code %s is not there", hash)
		}
	}
	total, err := r.balances.Add(r.supply.Burned)
	switch {
	case !r.run.last:
		return refuse("the end of the state is not there")
	case r.contracts != 0:
		return refuse("the list of contracts does not match the state")
	case err != nil || total != r.supply.Supply:
		return refuse("balances and burned coins do not add up to the supply")
	case r.accounts != r.manifest.Accounts || r.deployed != r.manifest.Contracts || r.stored != r.manifest.StorageEntries:
		return refuse("the state has %d accounts, %d contracts and %d storage entries, the manifest says %d, %d and %d",
			r.accounts, r.deployed, r.stored, r.manifest.Accounts, r.manifest.Contracts, r.manifest.StorageEntries)
	}
	return nil
}
