#!/bin/sh
# Measures contracts and writes a section of workshop/results.md to the standard output: Go benchmarks of calls in process,
# and loads on a node over HTTP. bin/cairn must be built. BENCH_TIME is the time of a Go benchmark, e.g. 20x, and
# BENCH_LOAD has further flags for `cairn bench`.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
time=${BENCH_TIME:-2s}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

. scripts/bench-table.sh

printf '\n## Contracts\n'
table "Transfers of the reference token between holders, a block of so many, on a disk with its sync, without signatures:" \
	./internal/engine/ledger BenchmarkTokenTransfers
table "A call's set-up: to get an instance, enter, write to four pages, leave and put all back; nested, for each level:" \
	./internal/engine/wasm 'BenchmarkCall/pages=2/touched=4$' BenchmarkNested
table "The sieve of Eratosthenes, metered, against the same in Go:" ./internal/engine/wasm BenchmarkMetered
table "A block's commit, of coins and of a token:" ./internal/storage/chain BenchmarkAppend

bin/cairn dev --ephemeral --rpc-addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 --ready-file "$directory/ready.json" >"$directory/log" 2>&1 &
node=$!
trap 'kill "$node"; wait "$node"; rm -rf "$directory"' EXIT
for _ in $(seq 100); do
	[ -f "$directory/ready.json" ] && break
	sleep 0.1
done
url=$(sed -n 's/.*"rpc": *"\([^"]*\)".*/\1/p' "$directory/ready.json")

# load NAME FLAGS… runs cairn bench and writes its report.
load() {
	printf '\n%s\n\n```text\n' "$1"
	shift
	# shellcheck disable=SC2086 # flags are words
	bin/cairn bench --rpc-url "$url" "$@" ${BENCH_LOAD:-}
	printf '```\n'
}
load "Transfers of the token over HTTP, the load generator on the same cores:" --load tokens --batch 100 --per-sender 100
load "The same, one a request:" --load tokens --per-sender 50
load "View calls of balances of the token over HTTP:" --load views --connections 32
load "The same in batches:" --load views --connections 32 --batch 100
