#!/bin/sh
# Compiles the example contracts in Rust to contracts/wasm, with Debian 12's rustc 1.63: the same sources give the same
# bytes anywhere. With --check it compares instead, and fails where a committed file differs. What is missing is installed.
set -eu
cd "$(dirname "$0")/rust"
version=1.63.0

if [ ! -x /usr/bin/cargo ] || [ ! -x /usr/bin/wasm-ld ] || [ ! -d /usr/lib/rustlib/wasm32-unknown-unknown ]; then
	root=""
	[ "$(id -u)" = 0 ] || root=sudo
	$root apt-get update -qq
	$root apt-get install -y -qq cargo rustc libstd-rust-dev-wasm32 lld >/dev/null
fi
if [ "$(/usr/bin/rustc --version | cut -d' ' -f2)" != "$version" ]; then
	echo "contracts/wasm is made with rustc $version (Debian 12); /usr/bin/rustc is another" >&2
	exit 1
fi

target=$(mktemp -d)
trap 'rm -rf "$target"' EXIT
# Paths must not show in the result: neither this checkout's nor the user's.
RUSTC=/usr/bin/rustc CARGO_TARGET_DIR=$target /usr/bin/cargo build --quiet --release --offline --locked \
	--target wasm32-unknown-unknown --workspace --exclude cairn-contract \
	--config "target.wasm32-unknown-unknown.rustflags=[\"--remap-path-prefix=$PWD=.\"]"
for file in "$target"/wasm32-unknown-unknown/release/*.wasm; do
	if [ "${1:-}" = --check ]; then
		cmp "$file" "../wasm/$(basename "$file")"
	else
		cp "$file" ../wasm/
	fi
done
