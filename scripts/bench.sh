#!/bin/sh
# Measures, and writes workshop/results.md and the plots in docs/: Cairn against geth and anvil under the same load, what
# blocks and queries cost as the state grows, what contracts and proofs cost, and how fast replicas follow. It takes two
# hours, in which nothing else should run. No figure makes it fail. QUICK=1 checks in a few minutes that everything
# runs: it measures as little as possible, into a directory that it prints. BENCH_PEERS, BENCH_GROWTH, BENCH_PROVING and
# BENCH_REPLICA are flags for the programs, e.g. BENCH_PEERS='-rounds 1' for a short look; for the rest see the other
# scripts. Peers that cannot be installed are left out. BENCH_CACHE is the directory in which they stay installed.
set -eu
cd "$(dirname "$0")/.."

output=workshop/results.md
plots=$PWD/docs
if [ -n "${QUICK:-}" ]; then
	plots=$(mktemp -d)
	output=$plots/results.md
	export BENCH_TIME=1x BENCH_RUNS=1 BENCH_WRITES=100,316 BENCH_LOAD='--senders 8 --per-sender 5 --duration 1s'
	BENCH_PEERS='-rounds 1 -senders 20 -per-sender 20 -read-time 1s'
	BENCH_GROWTH='-sizes 20000,31623 -transactions 100,316 -rest 20000 -block 100 -sustained-at 31623 -sustained 2 -transfers 10000 -queries 10 -runs 1'
	BENCH_PROVING='-rate 100 -duration 3s -drain 10s -senders 10'
	BENCH_REPLICA='-rounds 1 -per-sender 300'
fi
export BENCH_PLOTS="$plots"

geth_version=v1.17.8
anvil_version=1.7.1
cache=${BENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cairn-bench}
mkdir -p "$cache"
export CGO_ENABLED=0

geth=$cache/geth-$geth_version/geth
if [ ! -x "$geth" ]; then
	echo "building geth $geth_version" >&2
	GOBIN=$(dirname "$geth") go install "github.com/ethereum/go-ethereum/cmd/geth@$geth_version" || geth=
fi

if [ ! -d "$cache/anvil-$anvil_version" ]; then
	echo "installing anvil $anvil_version" >&2
	npm install --prefix "$cache/anvil-$anvil_version" --no-audit --no-fund --ignore-scripts "@foundry-rs/anvil@$anvil_version" >&2 ||
		rm -rf "$cache/anvil-$anvil_version"
fi
# The package only refers to the one with the system's binary.
anvil=$(find "$cache/anvil-$anvil_version" -path '*/bin/anvil' -type f -perm -u+x ! -path '*/.bin/*' 2>/dev/null | head -n 1)

go build -trimpath -o bin/cairn ./cmd/cairn
results=$(mktemp)
trap 'if [ $? = 0 ]; then rm -f "$results"; else echo "what was measured until then is in $results" >&2; fi' EXIT
{
	echo "# Measurements"
	echo
	echo "Written by \`make bench\`; do not edit. Only ratios of one run should be trusted."
	echo
	echo "- date: $(date -u +%Y-%m-%d)"
	echo "- commit: $(git describe --always --dirty)"
	echo "- machine: $(uname -sm), $(getconf _NPROCESSORS_ONLN) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1), $(awk '/^MemTotal/ {printf "%d GiB", $2 / 1048576}' /proc/meminfo 2>/dev/null)"
	echo "- peers: ${geth:+geth $geth_version }${anvil:+anvil $anvil_version}"
	echo
	echo "## Against peers"
	echo
} >"$results"
root=$PWD
# shellcheck disable=SC2086 # flags are words
(cd workshop/peers && go run . -cairn "$root/bin/cairn" -geth "$geth" -anvil "$anvil" ${BENCH_PEERS:-}) >>"$results"
{
	echo
	echo "## Growth"
	echo
} >>"$results"
# shellcheck disable=SC2086
go -C workshop run ./growth -plots "$plots" ${BENCH_GROWTH:-} >>"$results"
{
	echo
	echo "![What a block costs against the size of the state](../docs/growth-state.svg)"
	echo "![What a block costs against its transfers](../docs/growth-block.svg)"
} >>"$results"
sh scripts/bench-contracts.sh >>"$results"
sh scripts/bench-proofs.sh >>"$results"
# shellcheck disable=SC2086
{
	printf '\n## Proofs beside a chain under load\n\n'
	go -C workshop run ./proving ${BENCH_PROVING:--rate 1000 -duration 40s -drain 30s -senders 1000}
	printf '\n## Replicas\n\n'
	go -C workshop run ./replica ${BENCH_REPLICA:-}
} >>"$results"
cp "$results" "$output"
echo "measured into $output" >&2
