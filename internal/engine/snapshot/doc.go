// Package snapshot copies the state after a block into files that anyone can verify, and sets up a node from such a
// copy.
//
// A snapshot is a directory of a manifest and chunks. manifest.json is an api.StateSnapshot with the sealed header of
// the block. Each chunk is zstd (RFC 8878) of at most 8 MiB, and its SHA-256 is in the manifest. A chunk of the state
// is a run of its entries, ascending by path, with the siblings of the run in the state tree, so that each chunk by
// itself leads to the state root. docs/protocol.md, "Snapshots", describes the format.
//
// [Create] makes a snapshot from a view of the store while blocks are appended. [Verify] and [Import] read one from a
// directory or from an archive written by [Export]. [Download] fetches one from other nodes. [Directory] holds and
// serves a node's snapshots.
package snapshot
