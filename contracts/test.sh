#!/bin/sh
# Runs the tests of both contract SDKs and their examples, and fails where a committed module is not what its source
# compiles to. What is missing is installed by build.sh.
set -eu
cd "$(dirname "$0")"

sh build.sh --check
target=$(mktemp -d)
trap 'rm -rf "$target"' EXIT
(cd .. && CGO_ENABLED=0 go -C workshop test ./e2e -run TestLinesOfATrace -count 1 -counters "$PWD/contracts/rust/examples/counter,$PWD/contracts/assemblyscript/examples/counter")
(cd rust && RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc CARGO_TARGET_DIR=$target /usr/bin/cargo test --quiet --offline --locked --workspace)
(cd assemblyscript && npm test --silent)
