#!/bin/sh
# Runs the tests of both contract SDKs and their examples, and fails where a committed module is not what its source
# compiles to. What is missing is installed by build.sh.
set -eu
cd "$(dirname "$0")"

sh build.sh --check
target=$(mktemp -d)
trap 'rm -rf "$target"' EXIT
(cd rust && RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc CARGO_TARGET_DIR=$target /usr/bin/cargo test --quiet --offline --locked --workspace)
(cd assemblyscript && npm test --silent)
