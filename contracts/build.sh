#!/bin/sh
# Builds the example contracts in Rust into contracts/wasm, or into the directory that is given: with Debian 12's rustc
# 1.63, so that everyone gets the same bytes. What is missing is installed.
set -eu
cd "$(dirname "$0")/rust"
out=${1:-../wasm}
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
mkdir -p "$out"
cp "$target"/wasm32-unknown-unknown/release/*.wasm "$out"
