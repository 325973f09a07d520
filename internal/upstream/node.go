// Package upstream gives the engine access to another node: the source of a replica's blocks and a snapshot's chunks.
// It translates answers of the RPC interface into the engine's types, and refusals into its errors.
package upstream

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Node is a node at a URL: a replica.Source and a snapshot.Source. It is safe for concurrent use.
type Node struct {
	name     string
	client   *client.Client
	follower string // identifies this process to the node, which counts its followers
}

// New returns the node at an http or https URL.
func New(address string, options ...client.Option) (*Node, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the upstream's address is not a valid URL") // the error could contain a password
	}
	c, err := client.New(address, append(slices.Clone(options), client.WithoutReconnect(), client.WithRetry(0))...)
	if err != nil {
		return nil, err
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	return &Node{name: parsed.Redacted(), client: c, follower: hex.EncodeToString(id[:])}, nil
}

// Name returns the URL without secrets.
func (n *Node) Name() string { return n.name }

// Close closes the connections.
func (n *Node) Close() { n.client.Close() }

// Probe implements replica.Source.
func (n *Node) Probe(ctx context.Context, at types.Height) (replica.Probe, error) {
	var batch client.Batch
	info := client.Add(&batch, api.GetNodeInfo, api.NoParams{})
	status := client.Add(&batch, api.GetSyncStatus, api.NoParams{})
	blocks := client.Add(&batch, api.GetBlocks, n.headerRange(at, at))
	if err := batch.Send(ctx, n.client); err != nil {
		return replica.Probe{}, refused(err)
	}
	node, err := info.Result()
	if err != nil {
		return replica.Probe{}, refused(err)
	}
	progress, err := status.Result()
	if err != nil {
		return replica.Probe{}, refused(err)
	}
	p := replica.Probe{
		Genesis: node.GenesisHash, Head: progress.LocalHeight, Primary: progress.LocalHeight,
	}
	if primary := progress.PrimaryHeight; primary != nil {
		p.Primary = max(p.Primary, *primary)
	}
	if node.ProducerKey != nil && progress.State == api.StateProducing {
		p.Producing = node.ProducerKey
	}
	items, err := blocks.Result()
	if answerIn(err) != nil { // that block is pruned there
		return p, nil
	}
	if err != nil {
		return replica.Probe{}, err
	}
	p.Header, err = headerOf(items)
	return p, err
}

// headerRange returns the parameters of a request for headers.
func (n *Node) headerRange(from, to types.Height) api.GetBlocksParams {
	return api.GetBlocksParams{Range: api.BlockRange{From: from, To: to, RawOnly: true, Follower: n.follower}}
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

// Blocks implements replica.Source.
func (n *Node) Blocks(ctx context.Context, from, to types.Height) ([][]byte, error) {
	blocks, err := n.client.EncodedBlocks(ctx, from, to, n.follower)
	if isPruned(err) {
		return nil, replica.Faulty(replica.Pruned, "it has pruned block %d", from)
	}
	return blocks, notServed(err)
}

// Header implements replica.Source.
func (n *Node) Header(ctx context.Context, height types.Height) (*types.SignedHeader, error) {
	items, err := client.Invoke(ctx, n.client, api.GetBlocks, n.headerRange(height, height))
	if err != nil {
		return nil, refused(err)
	}
	return headerOf(items)
}

// Headers implements replica.Source.
func (n *Node) Headers(ctx context.Context, to types.Height) ([]types.SignedHeader, error) {
	ask := func(from types.Height) ([]api.BlockItem, error) {
		return client.Invoke(ctx, n.client, api.GetBlocks, n.headerRange(from, to))
	}
	from := to - min(to, api.MaxBlocks-1)
	items, err := ask(from)
	if answer := answerIn(err); errors.Is(err, api.ErrPruned) {
		if oldest, ok := heightIn(answer.Data["oldestHeight"]); ok && from < oldest && oldest <= to {
			items, err = ask(oldest)
		}
	}
	headers := make([]types.SignedHeader, len(items))
	for i := 0; i < len(items) && err == nil; i++ {
		headers[i], err = decodeHeader(items[i])
	}
	return headers, refused(err)
}

// Receipts implements replica.Source.
func (n *Node) Receipts(ctx context.Context, ids []types.TxID) ([]*replica.UnverifiedReceipt, error) {
	var batch client.Batch
	asked := make([]client.Pending[*api.Receipt], len(ids))
	for i, id := range ids {
		asked[i] = client.Add(&batch, api.GetTransactionReceipt, api.TransactionParams{Hash: id})
	}
	if err := batch.Send(ctx, n.client); err != nil {
		return nil, refused(err)
	}
	receipts := make([]*replica.UnverifiedReceipt, len(ids))
	for i, a := range asked {
		said, err := a.Result()
		if errors.Is(err, api.ErrPruned) {
			continue // the node does not know the receipt
		}
		if err == nil && said != nil {
			receipts[i], err = unverifiedReceipt(said)
		}
		if err != nil {
			return nil, refused(err)
		}
	}
	return receipts, nil
}

// maxAccessBytes bounds an access list.
const maxAccessBytes = 256 << 20

// Accesses implements replica.Source.
func (n *Node) Accesses(ctx context.Context, height types.Height) ([]types.Access, error) {
	encoded, err := n.client.AccessListFile(ctx, height, maxAccessBytes)
	if err != nil {
		return nil, notServed(err)
	}
	accesses, err := types.DecodeAccesses(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: an access list: %w", client.ErrBadAnswer, err)
	}
	return accesses, nil
}

// Bundle implements replica.Source.
func (n *Node) Bundle(ctx context.Context, height types.Height, limit int64) ([]byte, error) {
	bundle, err := n.client.ProofBundle(ctx, height, limit)
	switch {
	case errors.Is(err, api.ErrProofNotReady):
		return nil, replica.ErrNotProven
	case errors.Is(err, api.ErrProofNotStored):
		return nil, replica.Faulty(replica.Stalled, "%w: %w", newNoProof(height, answerIn(err)), err)
	}
	return bundle, refused(err)
}

// Ranges implements replica.Source.
func (n *Node) Ranges(ctx context.Context) ([]replica.Ranges, error) {
	info, err := n.client.NodeInfo(ctx)
	if err != nil {
		return nil, refused(err)
	}
	ranges := make([]replica.Ranges, len(info.RangeProofs))
	for i, r := range info.RangeProofs {
		ranges[i] = replica.Ranges{Blocks: types.Height(r.Blocks), Oldest: r.Oldest, Newest: r.Newest}
	}
	return ranges, nil
}

// Range implements replica.Source.
func (n *Node) Range(ctx context.Context, first, last types.Height, limit int64) ([]byte, error) {
	encoded, err := n.client.RangeProof(ctx, first, last, limit)
	if errors.Is(err, api.ErrProofNotStored) {
		return nil, fmt.Errorf("%w: %w", replica.ErrNoRange, err)
	}
	return encoded, refused(err)
}

// Value implements replica.Source.
func (n *Node) Value(
	ctx context.Context, height types.Height, key []byte,
) (value []byte, proof tree.MerkleProof, err error) {
	answer, err := n.client.StateProof(ctx, key, api.AtHeight(height))
	if errors.Is(err, api.ErrNoState) {
		return nil, proof, fmt.Errorf("%w: %w", chain.ErrNoState, refused(err))
	}
	if errors.Is(err, api.ErrProofWindow) || errors.Is(err, api.ErrPruned) {
		return nil, proof, fmt.Errorf("%w: %w", chain.ErrPruned, refused(err))
	}
	if err != nil {
		return nil, proof, refused(err)
	}
	if proof, err = newMerkleProof(answer); err != nil {
		return nil, proof, fmt.Errorf("%w: a Merkle proof: %w", client.ErrBadAnswer, err)
	}
	if answer.Value != nil {
		value = *answer.Value
	}
	return value, proof, nil
}

// newMerkleProof converts a Merkle proof from a node's answer.
func newMerkleProof(answer api.AccountProof) (proof tree.MerkleProof, err error) {
	for _, sibling := range answer.Siblings {
		digest, err := poseidon.ParseDigest(sibling)
		if err != nil {
			return proof, err
		}
		proof.Siblings = append(proof.Siblings, digest)
	}
	switch end := answer.End; {
	case end.Type == api.EndLeaf:
		proof.End.Kind = tree.EndLeaf
	case end.Type == api.EndEmpty:
		proof.End.Kind = tree.EndEmpty
	case end.Type == api.EndOther && end.Path != nil && end.ValueHash != nil:
		proof.End.Kind = tree.EndOther
		var pathErr, valueErr error
		proof.End.Path, pathErr = parseDigest(*end.Path)
		proof.End.ValueHash, valueErr = parseDigest(*end.ValueHash)
		return proof, errors.Join(pathErr, valueErr)
	default:
		return proof, fmt.Errorf("it ends with %q", end.Type)
	}
	return proof, nil
}

func parseDigest(data api.Data) (poseidon.Digest, error) {
	var bytes types.StateRoot
	if len(data) != len(bytes) {
		return poseidon.Digest{}, fmt.Errorf("a digest of %d bytes", len(data))
	}
	copy(bytes[:], data)
	return poseidon.ParseDigest(bytes)
}

// Code implements replica.Source.
func (n *Node) Code(ctx context.Context, hash types.CodeHash) ([]byte, error) {
	code, err := n.client.Code(ctx, hash)
	if answer := answerIn(err); answer != nil && answer.Code == api.CodeNoContract {
		return nil, replica.Faulty(replica.Stalled, "it does not have the code %s: %w", hash, err)
	}
	return code, refused(err)
}

// Watch implements replica.Source.
func (n *Node) Watch(ctx context.Context, head func(types.Height)) error {
	for block, err := range n.client.SubscribeBlocks(ctx, nil) {
		var status *client.StatusError
		if errors.As(err, &status) { // the node exists but makes no such connection
			return &replica.Refusal{Why: replica.RefusedForGood, Err: err}
		}
		if err != nil {
			return refused(err)
		}
		head(block.Height)
	}
	return ctx.Err()
}

// Send implements replica.Source.
func (n *Node) Send(ctx context.Context, encoded [][]byte) []error {
	errs := make([]error, len(encoded))
	if len(encoded) == 1 {
		_, err := client.Invoke(ctx, n.client, api.SendRawTransaction, api.RawTransactionParams{Transaction: encoded[0]})
		errs[0] = refused(err)
		return errs
	}
	var batch client.Batch
	sent := make([]client.Pending[types.TxID], len(encoded))
	for i, tx := range encoded {
		sent[i] = client.Add(&batch, api.SendRawTransaction, api.RawTransactionParams{Transaction: tx})
	}
	err := batch.Send(ctx, n.client)
	for i := range sent {
		if errs[i] = err; err == nil {
			_, errs[i] = sent[i].Result()
		}
		errs[i] = refused(errs[i])
	}
	return errs
}

// Snapshot implements snapshot.Source.
func (n *Node) Snapshot(ctx context.Context, atMost types.Height) (*snapshot.Manifest, error) {
	block := api.AtHeight(atMost)
	if atMost == snapshot.AnyHeight {
		block = api.Latest()
	}
	offered, err := n.client.OfferedSnapshot(ctx, block)
	if offered == nil || err != nil {
		return nil, err
	}
	return newManifest(offered), nil
}

// Chunk implements snapshot.Source.
func (n *Node) Chunk(ctx context.Context, url string, from uint64) (io.ReadCloser, uint64, error) {
	return n.client.Download(ctx, url, from)
}

func newManifest(s *api.StateSnapshot) *snapshot.Manifest {
	m := &snapshot.Manifest{
		Height:         s.Height,
		BlockHash:      s.BlockHash,
		StateRoot:      s.StateRoot,
		Format:         s.Format,
		Accounts:       s.Accounts,
		Contracts:      s.Contracts,
		StorageEntries: s.StorageEntries,
		SizeBytes:      s.SizeBytes,
		ChunkCount:     s.ChunkCount,
		CreatedAt:      s.CreatedAt,
		ChainID:        s.ChainID,
		GenesisHash:    s.GenesisHash,
		Header:         types.Hex(s.Header),
	}
	for _, c := range s.Chunks {
		m.Chunks = append(m.Chunks, snapshot.Chunk{
			Index: c.Index, SHA256: c.SHA256, SizeBytes: c.SizeBytes, URL: c.URL, Kind: snapshot.Kind(c.Kind),
		})
	}
	return m
}
