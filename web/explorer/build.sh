#!/bin/sh
# Builds the pages into internal/server/explorer/dist, where they are committed, or into the given directory.
set -eu
cd "$(dirname "$0")"
out=${1:-$PWD/../../internal/server/explorer/dist}

[ ../../sdk/typescript/node_modules/.package-lock.json -nt ../../sdk/typescript/package-lock.json ] ||
	npm --prefix ../../sdk/typescript ci --ignore-scripts --no-audit --no-fund --loglevel error
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts --no-audit --no-fund --loglevel error
(cd ../../sdk/typescript && rm -rf dist && npx tsc -p tsconfig.json)
npx tsc -p tsconfig.json
npx vite build --outDir "$out" --emptyOutDir --logLevel warn
