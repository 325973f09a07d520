#!/bin/sh
# Measures block proofs, draws growth-proof.svg and writes a section of workshop/results.md to the standard output.
# BENCH_RUNS is the number of proofs of each block, BENCH_WRITES the numbers of writes in the blocks, BENCH_TIME the
# time of a Go benchmark, e.g. 20x, and BENCH_PLOTS the directory of the plot.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
time=${BENCH_TIME:-5x}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
. scripts/bench-table.sh

# proofs FLAG DIRECTORY SIZES measures with a flag for the compiler, and draws into a directory if one is given.
proofs() { go -C workshop run ${1:+"$1"} ./growth -sizes "" -transfers "" -plots "$2" -runs "${BENCH_RUNS:-5}" -writes "$3"; }

printf '\n## Proofs\n\n'
proofs "" "${BENCH_PLOTS:-$PWD/docs}" "${BENCH_WRITES:-100,316,1000,3162,10000,40000}"
printf '\n![What a block'"'"'s proof costs against its writes](../docs/growth-proof.svg)\n'
printf '\nWithout AVX-512:\n\n'
# The node's kernels check avx512f, gnark-crypto's avx512; the runtime does not know the latter and warns about it.
GODEBUG=cpu.avx512f=off,cpu.avx512=off proofs "" "" 1000
printf '\nWithout any vector instructions, the standard library'"'"'s for SHA-256 included (tag purego):\n\n'
proofs "-tags=purego" "" 1000
table "One thread, no table made: verification, and of it hashing the list:" ./internal/protocol/blockproof 'BenchmarkBlock/(verify|list)'
table "The proof system alone, a table of 208 columns, on all cores:" ./internal/proof/prover BenchmarkProve BenchmarkVerify
