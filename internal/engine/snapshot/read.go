package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"runtime"
	"sync"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// sink takes what a snapshot holds, checked. Its parts belong together once reading ends without an error.
type sink interface {
	PutState(chain.StateEntry) error
	PutCode(hash types.CodeHash, code []byte, since types.Height) error
	PutDeployment(chain.Deployment) error
	PutHolder(chain.TokenSum) error
}

// whole is what of a snapshot is known once it was read.
type whole struct {
	genesis types.Genesis
	zero    types.SignedHeader // block 0
	block   chain.Entry
}

// readFile reads a chunk's file and holds it to the manifest.
func readFile(fsys fs.FS, c Chunk) ([]byte, error) {
	file, err := fsys.Open(fileName(c.Index))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	data, err := io.ReadAll(io.LimitReader(file, int64(c.SizeBytes)+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return data, checkFile(data, c)
}

// checkFile holds a chunk's file to the manifest.
func checkFile(data []byte, c Chunk) error {
	switch {
	case uint64(len(data)) != c.SizeBytes:
		return fmt.Errorf("%w: it has %d bytes or more, the manifest says %d", ErrDamaged, len(data), c.SizeBytes)
	case sha256.Sum256(data) != c.SHA256:
		return fmt.Errorf("%w: its SHA-256 is not the manifest's", ErrDamaged)
	}
	return nil
}

// content is a chunk, decoded and checked alone.
type content struct {
	kind      Kind
	piece     []byte // of the genesis or the block
	run       provenRun
	codes     [][]byte
	contracts []chain.Deployment
	holders   []chain.TokenSum
}

// openChunk decodes a chunk's file, which is the manifest's, and checks all that can be said of it alone: entries of
// the state against the state root.
func openChunk(data []byte, kind Kind, root types.StateRoot) (c content, err error) {
	c.kind = kind
	plain, err := decompress(data)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrFalse, err)
	}
	switch kind {
	case KindGenesis, KindBlock:
		c.piece = plain
	case KindState:
		var chunk stateChunk
		if chunk, err = decodeState(plain); err == nil {
			c.run, err = chunk.prove(root)
		}
	case KindCode:
		c.codes, err = decodeCodes(plain)
	case KindContracts:
		c.contracts, err = decodeDeployments(plain)
	case KindHolders:
		c.holders, err = decodeHolders(plain)
	}
	if err != nil && !errors.Is(err, ErrFalse) {
		err = fmt.Errorf("%w: %w", ErrFalse, err)
	}
	return c, err
}

// read reads a snapshot whole, checks it, and hands what it holds to a sink. progress is told of the bytes done and of
// all there are.
func read(
	ctx context.Context, fsys fs.FS, trust Trust, into sink, progress func(done, total uint64),
) (Manifest, whole, error) {
	m, header, err := readManifest(fsys)
	if err != nil {
		return m, whole{}, err
	}
	r := reader{
		manifest: m, header: header, trust: trust, sink: into,
		found: found{codes: make(map[types.CodeHash]codeUse), seed: maphash.MakeSeed()},
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var done uint64
	for chunk := range ahead(ctx, fsys, m) {
		if ctx.Err() != nil {
			break // what was opened ahead is not wanted any more
		}
		if chunk.err != nil {
			return m, r.whole, fmt.Errorf("chunk %d, %s: %w", chunk.Index, chunk.Kind, chunk.err)
		}
		if err := r.add(chunk.content); err != nil {
			return m, r.whole, fmt.Errorf("chunk %d, %s: %w", chunk.Index, chunk.Kind, err)
		}
		done += chunk.SizeBytes
		progress(done, m.SizeBytes)
	}
	if err := ctx.Err(); err != nil {
		return m, r.whole, err
	}
	return m, r.whole, r.finish()
}

// opened is a chunk that was opened, or why it was not.
type opened struct {
	Chunk
	content
	err error
}

// ahead opens the chunks of a snapshot on all cores and gives them in their order.
func ahead(ctx context.Context, fsys fs.FS, m Manifest) func(yield func(opened) bool) {
	return func(yield func(opened) bool) {
		workers := runtime.GOMAXPROCS(0)
		var group sync.WaitGroup
		defer group.Wait()
		waiting := make([]chan opened, 0, workers)
		for next := 0; ; {
			for ; next < len(m.Chunks) && len(waiting) < workers && ctx.Err() == nil; next++ {
				chunk, result := m.Chunks[next], make(chan opened, 1)
				waiting = append(waiting, result)
				group.Go(func() {
					o := opened{Chunk: chunk}
					var data []byte
					if data, o.err = readFile(fsys, chunk); o.err == nil {
						o.content, o.err = openChunk(data, chunk.Kind, m.StateRoot)
					}
					result <- o
				})
			}
			if len(waiting) == 0 || !yield(<-waiting[0]) {
				return
			}
			waiting = waiting[1:]
		}
	}
}

// codeUse is what the state's contracts say of a code.
type codeUse struct {
	since types.Height // of the first contract that has it
	there bool         // whether it came
}

// reader checks what chunks are together.
type reader struct {
	manifest Manifest
	header   types.SignedHeader
	trust    Trust
	sink     sink
	whole

	genesisBytes, blockBytes []byte
	touched                  map[string][]byte // values that the block left; those found in the state are gone

	run    provenRun // the last one, whose entries were handed on
	runEnd chain.StateEntry
	found
}

// found is what the chunks have had so far: the manifest, the supply and the lists must be of as much.
type found struct {
	accounts  uint64
	deployed  uint64
	stored    uint64
	supply    state.Supply
	balances  types.Amount
	codes     map[types.CodeHash]codeUse
	lastList  chain.Deployment
	lastToken chain.TokenSum
	// contracts is the sum of hashes, which nobody outside can foresee, of the state's contracts with their heights, less
	// that of the listed ones.
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
	case KindContracts:
		return r.addContracts(c.contracts)
	default:
		return r.addHolders(c.holders)
	}
}

// join adds a piece of data that has several.
func (r *reader) join(to *[]byte, piece []byte, limit int) error {
	if len(*to)+len(piece) > limit {
		return fmt.Errorf("%w: it has more than %d bytes in all", ErrFalse, limit)
	}
	*to = append(*to, piece...)
	return nil
}

// head decodes genesis and block once their last piece has come.
func (r *reader) head() (err error) {
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

// decodeGenesis decodes a genesis and makes its block 0.
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

// addRun takes the next run of the state, which must begin where the last one ended.
func (r *reader) addRun(run provenRun) error {
	if err := r.head(); err != nil {
		return err
	}
	switch {
	case r.run.chain == nil && run.before != nil:
		return fmt.Errorf("%w: it is not the first of the state", ErrFalse)
	case r.run.chain != nil && (run.before == nil || *run.before != r.runEnd.Path):
		return fmt.Errorf("%w: it does not begin where the chunk before ends", ErrFalse)
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
			return fmt.Errorf("%w: state key %x is not as the block left it", ErrFalse, e.Key)
		}
		delete(r.touched, string(e.Key))
	}
	switch domain := state.Domain(e.Key[0]); {
	case domain == state.DomainAccount && len(e.Key) == 33:
		r.accounts++
		var account state.Account
		if account, err = state.DecodeAccount(e.Value); err == nil {
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

// checkParameters refuses parameters that this program cannot continue from.
func checkParameters(value []byte) error {
	p, err := types.DecodeParameters(value)
	if err != nil {
		return err
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

func (r *reader) addContracts(contracts []chain.Deployment) error {
	for _, d := range contracts {
		if r.lastList.Compare(d.Position) >= 0 {
			return fmt.Errorf("%w: contract %s does not ascend", ErrFalse, d.Contract)
		}
		r.lastList = d
		r.contracts -= r.hash(d.Contract, d.Height)
		if err := r.sink.PutDeployment(d); err != nil {
			return err
		}
	}
	return nil
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
		return refuse("the list of contracts is not that of the state's")
	case err != nil || total != r.supply.Supply:
		return refuse("balances and burned coins are not the supply")
	case r.accounts != r.manifest.Accounts || r.deployed != r.manifest.Contracts || r.stored != r.manifest.StorageEntries:
		return refuse("the state has %d accounts, %d contracts and %d storage entries, the manifest says %d, %d and %d",
			r.accounts, r.deployed, r.stored, r.manifest.Accounts, r.manifest.Contracts, r.manifest.StorageEntries)
	}
	return nil
}

// nowhere is the sink of a snapshot that is only checked.
type nowhere struct{}

func (nowhere) PutState(chain.StateEntry) error                    { return nil }
func (nowhere) PutCode(types.CodeHash, []byte, types.Height) error { return nil }
func (nowhere) PutDeployment(chain.Deployment) error               { return nil }
func (nowhere) PutHolder(chain.TokenSum) error                     { return nil }

// Verify checks a snapshot whole: each chunk against the manifest, the state against the signed header's root, and that
// nothing is missing, doubled or of another snapshot.
func Verify(ctx context.Context, fsys fs.FS, trust Trust, progress func(done, total uint64)) (Manifest, error) {
	m, _, err := read(ctx, fsys, trust, nowhere{}, progress)
	return m, err
}

// Import checks a snapshot as [Verify] does and makes it the chain of a store, which must be empty. After an error the
// store's database is of no use.
func Import(
	ctx context.Context, fsys fs.FS, trust Trust, store *chain.Store, progress func(done, total uint64),
) (Manifest, error) {
	restore, err := store.Restore()
	if err != nil {
		return Manifest{}, err
	}
	m, whole, err := read(ctx, fsys, trust, restore, progress)
	if err != nil {
		return m, errors.Join(err, restore.Discard())
	}
	return m, restore.Finish(whole.genesis, whole.zero, whole.block)
}
