// Package kv is an ordered, durable key-value store with atomic batches and consistent snapshots: a thin wrapper around
// Pebble, and the only package to import it. Keys are ordered bytewise.
package kv
