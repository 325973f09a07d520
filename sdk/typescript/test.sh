#!/bin/sh
# Installs what the lock file names, compiles the SDK and its tests, and runs them against the node of this repository.
# CAIRN=PATH uses an existing program; KILLS=50 kills the pay-out program more often.
set -eu
cd "$(dirname "$0")"

[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts --no-audit --no-fund --loglevel error
rm -rf dist build
npx tsc -p tsconfig.json
npx tsc -p test/tsconfig.json
if [ -z "${CAIRN:-}" ]; then
	CAIRN=$PWD/build/cairn
	CGO_ENABLED=0 go build -o "$CAIRN" ../../cmd/cairn
fi
export CAIRN
sh ../../proof/wasm/build.sh node_modules/@cairn-chain/proof # where npm installs it
node --experimental-websocket --test build/ # Node.js 20 has WebSocket only with the flag
sh runtimes/test.sh
