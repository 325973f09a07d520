// Package kv is an ordered, durable key-value store with atomic batches and consistent snapshots: a thin wrapper
// around Pebble, whose only importer it is. Keys are ordered by their bytes.
package kv
