package replica

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Source is a node that blocks come from. Its methods may be called concurrently; what they return is not to be believed.
type Source interface {
	// Name is where the node is, without secrets.
	Name() string
	// Probe asks what the node is and how far, and for the header of its block at a height.
	Probe(ctx context.Context, at types.Height) (Probe, error)
	// Blocks are bincode(Block) of the blocks from one height to another, or of the first of them; none above the
	// node's head.
	Blocks(ctx context.Context, from, to types.Height) ([][]byte, error)
	// Header is the header of a block, nil above the node's head.
	Header(ctx context.Context, height types.Height) (*types.SignedHeader, error)
	// Headers are those of blocks up to a height, ascending: as many as the node has and gives at a time.
	Headers(ctx context.Context, to types.Height) ([]types.SignedHeader, error)
	// Receipts are what the node says of transactions, each nil when it does not know it.
	Receipts(ctx context.Context, ids []types.TxID) ([]*api.Receipt, error)
	// Accesses are what the node says that a block read and wrote.
	Accesses(ctx context.Context, height types.Height) ([]types.Access, error)
	// Bundle is what the node gives as the bundle of a block's proof, of at most limit bytes; [ErrNotProven] while there is
	// none.
	Bundle(ctx context.Context, height types.Height, limit int64) ([]byte, error)
	// Parameters are the encoded parameters after a block, with their Merkle proof; an error where there is none any more,
	// chain.ErrNoState where the node keeps no state.
	Parameters(ctx context.Context, height types.Height) ([]byte, tree.Proof, error)
	// Code is what the node gives as the code of a hash.
	Code(ctx context.Context, hash types.CodeHash) ([]byte, error)
	// Watch calls head for each new block until ctx ends or the node has no more to say.
	Watch(ctx context.Context, head func(types.Height)) error
	// Send sends transactions and returns each one's error.
	Send(ctx context.Context, encoded [][]byte) []error
	// Close ends the connections.
	Close()
}

// Probe is what a node says of itself.
type Probe struct {
	Genesis types.BlockHash
	Head    types.Height // of its newest block
	Primary types.Height // of the newest block that it knows of
	Header  *types.SignedHeader
}

// remote is a [Source] over JSON-RPC.
type remote struct {
	name     string
	client   *client.Client
	follower string // names this process to the node, which counts its followers
}

// NewSource is the node at an http or https URL.
func NewSource(address string, options ...client.Option) (Source, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the upstream's address is no URL") // the error would show a password in it
	}
	c, err := client.New(address, options...)
	if err != nil {
		return nil, err
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	return &remote{name: parsed.Redacted(), client: c, follower: hex.EncodeToString(id[:])}, nil
}

func (r *remote) Name() string { return r.name }

func (r *remote) Close() { r.client.Close() }

func (r *remote) Probe(ctx context.Context, at types.Height) (Probe, error) {
	var batch client.Batch
	info := client.Add(&batch, api.GetNodeInfo, api.NoParams{})
	status := client.Add(&batch, api.GetSyncStatus, api.NoParams{})
	blocks := client.Add(&batch, api.GetBlocks, r.blockRange(at, at, false))
	if err := batch.Send(ctx, r.client); err != nil {
		return Probe{}, err
	}
	node, err := info.Result()
	if err != nil {
		return Probe{}, err
	}
	progress, err := status.Result()
	if err != nil {
		return Probe{}, err
	}
	p := Probe{Genesis: node.GenesisHash, Head: progress.LocalHeight, Primary: max(progress.LocalHeight, progress.PrimaryHeight)}
	items, err := blocks.Result()
	var refused *client.Error
	if errors.As(err, &refused) { // that block is pruned there
		return p, nil
	}
	if err != nil {
		return Probe{}, err
	}
	p.Header, err = headerOf(items)
	return p, err
}

func (r *remote) blockRange(from, to types.Height, transactions bool) api.GetBlocksParams {
	return api.GetBlocksParams{Range: api.BlockRange{
		From: from, To: to, IncludeTransactions: transactions, RawOnly: true, Follower: r.follower,
	}}
}

func headerOf(items []api.BlockItem) (*types.SignedHeader, error) {
	if len(items) == 0 {
		return nil, nil
	}
	header, err := decodeHeader(items[0])
	return &header, err
}

func decodeHeader(item api.BlockItem) (types.SignedHeader, error) {
	header, err := types.DecodeSignedHeader(item.Raw)
	if err != nil {
		return header, fmt.Errorf("%w: a header: %w", client.ErrBadAnswer, err)
	}
	return header, nil
}

func (r *remote) Blocks(ctx context.Context, from, to types.Height) ([][]byte, error) {
	var answer json.RawMessage
	if err := r.client.Raw(ctx, api.GetBlocks.Name, []any{r.blockRange(from, to, true).Range}, &answer); err != nil {
		return nil, err
	}
	// An answer has megabytes of hex: encoding/json takes a few times as long, and so does a decoding of all members.
	blocks, err := jsonrpc.StringMembers(answer, "raw")
	for i, text := range blocks {
		var raw api.Data
		if err == nil {
			err = raw.UnmarshalText(text)
		}
		blocks[i] = raw
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrBadAnswer, err)
	}
	return blocks, nil
}

func (r *remote) Header(ctx context.Context, height types.Height) (*types.SignedHeader, error) {
	items, err := client.Invoke(ctx, r.client, api.GetBlocks, r.blockRange(height, height, false))
	if err != nil {
		return nil, err
	}
	return headerOf(items)
}

func (r *remote) Headers(ctx context.Context, to types.Height) ([]types.SignedHeader, error) {
	ask := func(from types.Height) ([]api.BlockItem, error) {
		return client.Invoke(ctx, r.client, api.GetBlocks, r.blockRange(from, to, false))
	}
	from := to - min(to, api.MaxBlocks-1)
	items, err := ask(from)
	var refused *client.Error
	if errors.Is(err, api.ErrPruned) && errors.As(err, &refused) {
		if oldest, ok := heightIn(refused.Data["oldestHeight"]); ok && from < oldest && oldest <= to {
			items, err = ask(oldest)
		}
	}
	headers := make([]types.SignedHeader, len(items))
	for i := 0; i < len(items) && err == nil; i++ {
		headers[i], err = decodeHeader(items[i])
	}
	return headers, err
}

func (r *remote) Receipts(ctx context.Context, ids []types.TxID) ([]*api.Receipt, error) {
	var batch client.Batch
	asked := make([]client.Pending[*api.Receipt], len(ids))
	for i, id := range ids {
		asked[i] = client.Add(&batch, api.GetTransactionReceipt, api.TransactionParams{Hash: id})
	}
	err := batch.Send(ctx, r.client)
	receipts := make([]*api.Receipt, len(ids))
	for i := 0; i < len(ids) && err == nil; i++ {
		receipts[i], err = asked[i].Result()
	}
	return receipts, err
}

// maxAccessBytes bounds an access list.
const maxAccessBytes = 256 << 20

func (r *remote) Accesses(ctx context.Context, height types.Height) ([]types.Access, error) {
	var encoded []byte
	cursor := ""
	for {
		page, err := r.client.AccessList(ctx, api.AtHeight(height), cursor)
		if err != nil {
			return nil, err
		}
		encoded = append(encoded, page.Data...)
		if page.Cursor == nil {
			return types.DecodeAccesses(encoded)
		}
		if len(page.Data) == 0 || len(encoded) > maxAccessBytes {
			return nil, fmt.Errorf("%w: an access list without end", client.ErrBadAnswer)
		}
		cursor = *page.Cursor
	}
}

// maxBundleBytes bounds a bundle: an access list and its proof. It is held in memory, and who sends it is not trusted: so it is
// less than the 1 GiB of a decoder, and twice what a block of the default gas limit can list (10^9 gas; a byte that is read costs
// 16 and is listed before and after: 125 MB).
const maxBundleBytes = maxAccessBytes + 64<<20

func (r *remote) Bundle(ctx context.Context, height types.Height, limit int64) ([]byte, error) {
	bundle, err := r.client.ProofBundle(ctx, height, limit)
	var refused *client.Error
	switch {
	case errors.Is(err, api.ErrProofNotReady):
		return nil, ErrNotProven
	case errors.Is(err, api.ErrProofNotStored) && errors.As(err, &refused):
		return nil, faulty(Stalled, "%w: %w", newNoProof(height, refused), err)
	}
	return bundle, err
}

func (r *remote) Parameters(ctx context.Context, height types.Height) (encoded []byte, proof tree.Proof, err error) {
	info, err := client.Invoke(ctx, r.client, api.GetParameters, api.ParametersParams{Block: api.AtHeight(height)})
	if errors.Is(err, api.ErrNoState) {
		return nil, proof, fmt.Errorf("%w: %w", chain.ErrNoState, err)
	}
	if err != nil {
		return nil, proof, err
	}
	if info.Proof == nil || info.Proof.Value == nil || info.Height != height {
		return nil, proof, faulty(Stalled, "it has no proof of the parameters after block %d any more", height)
	}
	proof.End.Kind = tree.EndLeaf // the key is always there
	for _, sibling := range info.Proof.Siblings {
		digest, err := poseidon.ParseDigest(sibling)
		if err != nil {
			return nil, proof, fmt.Errorf("%w: a Merkle proof: %w", client.ErrBadAnswer, err)
		}
		proof.Siblings = append(proof.Siblings, digest)
	}
	return *info.Proof.Value, proof, nil
}

func (r *remote) Code(ctx context.Context, hash types.CodeHash) ([]byte, error) {
	code, err := r.client.Code(ctx, hash)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Code == api.CodeNoContract {
		return nil, faulty(Stalled, "it does not have the code %s: %w", hash, err)
	}
	return code, err
}

func (r *remote) Watch(ctx context.Context, head func(types.Height)) error {
	for block, err := range r.client.SubscribeBlocks(ctx, nil) {
		if err != nil {
			return err
		}
		head(block.Height)
	}
	return ctx.Err()
}

func (r *remote) Send(ctx context.Context, encoded [][]byte) []error {
	errs := make([]error, len(encoded))
	if len(encoded) == 1 {
		_, errs[0] = client.Invoke(ctx, r.client, api.SendRawTransaction, api.RawTransactionParams{Transaction: encoded[0]})
		return errs
	}
	var batch client.Batch
	sent := make([]client.Pending[types.TxID], len(encoded))
	for i, tx := range encoded {
		sent[i] = client.Add(&batch, api.SendRawTransaction, api.RawTransactionParams{Transaction: tx})
	}
	err := batch.Send(ctx, r.client)
	for i := range sent {
		if errs[i] = err; err == nil {
			_, errs[i] = sent[i].Result()
		}
	}
	return errs
}
