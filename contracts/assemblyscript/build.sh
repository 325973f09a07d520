#!/bin/sh
# Compiles the examples to contracts/wasm/as-*.wasm with the compiler that package-lock.json pins; the same sources give
# the same bytes anywhere. With --check it compares instead, and fails where a committed file differs. What is missing
# is installed.
set -eu
cd "$(dirname "$0")"

if ! command -v npm >/dev/null; then
	echo "Node.js 20 is needed: installing it" >&2
	root=""
	[ "$(id -u)" = 0 ] || root=sudo
	$root apt-get update -qq
	$root apt-get install -y -qq nodejs npm >/dev/null
fi
npm ci --silent --no-audit --no-fund

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for example in counter escrow multisig nep20 nft vesting; do
	(cd "examples/$example" && npx --no-install cairn-asc assembly/index.ts -o "$out/as-$example.wasm")
done
for file in "$out"/*.wasm; do
	if [ "${1:-}" = --check ]; then
		cmp "$file" "../wasm/$(basename "$file")"
	else
		cp "$file" ../wasm/
	fi
done
