// Package snapshot copies the state after a block into files that anyone can check, and makes a node of such a copy.
//
// A snapshot is a directory: manifest.json, an api.StateSnapshot with the signed header of the block, and chunks. Each
// chunk is zstd (RFC 8878) of at most 8 MiB, and its SHA-256 is in the manifest. Chunks of the state are runs of its
// entries, ascending by path, with what is beside the run in the state tree: each leads to the state root alone. The
// format is in docs/protocol.md, "Snapshots".
//
// [Create] makes one from a view of the store, beside the making of blocks. [Verify] and [Import] read one, from a
// directory or an archive of [Export]; [Download] fetches one from other nodes; [Directory] holds and serves a node's.
package snapshot
