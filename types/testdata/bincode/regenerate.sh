#!/bin/sh
# Regenerates vectors.json with Rust's bincode 1.3. It needs Debian and a user who may use apt, and installs Debian's
# cargo if there is none. It builds in a temporary directory and leaves nothing else behind.
set -eu
cd "$(dirname "$0")"

packages="librust-bincode-dev librust-serde-dev librust-serde-derive-dev librust-serde-json-dev"
command -v cargo >/dev/null || packages="$packages cargo"
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
# shellcheck disable=SC2086 # the list is split on purpose
dpkg -s $packages >/dev/null 2>&1 || $as_root apt-get install -y --no-install-recommends $packages

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp -r Cargo.toml .cargo src "$build"
(cd "$build" && cargo run --offline --quiet) >"$build/vectors.json"
mv "$build/vectors.json" vectors.json
chmod 644 vectors.json
