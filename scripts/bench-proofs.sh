#!/bin/sh
# Measures block proofs and writes a section of bench/results.md to the standard output. BENCH_TIME is that of a Go
# benchmark, e.g. 20x.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
time=${BENCH_TIME:-5x}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
. scripts/bench-table.sh

printf '\n## Proofs\n'
table "Blocks that write so many of a million accounts, 128 bits: the trace, the proof, its verification, and of that hashing the list:" \
	./internal/protocol/blockproof BenchmarkBlock
table "The proof system alone, a table of 208 columns, on all cores:" ./internal/proof/prover BenchmarkProve BenchmarkVerify
