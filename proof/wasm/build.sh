#!/bin/sh
# Builds the JavaScript package of the verifier into the given directory (default bin/proof): a package without
# dependencies, for Node.js and browsers.
set -eu
out=${1:-bin/proof}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"

CGO_ENABLED=0 GOOS=js GOARCH=wasm go build -trimpath -ldflags '-s -w' -o "$out/verifier.wasm" .
cp "$(go env GOROOT)/lib/wasm/wasm_exec.js" "$out" # part of the compiler that built the verifier
cp index.js index.d.ts package.json ../../LICENSE "$out"
chmod 644 "$out"/* # independent of the modes of the copied files
