#!/bin/sh
# Installs what the lock file names, compiles the SDK and its tests, and runs them.
set -eu
cd "$(dirname "$0")"

[ -d node_modules ] && [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts --no-audit --no-fund --silent
rm -rf dist build
npx tsc -p tsconfig.json
npx tsc -p test/tsconfig.json
node --test build/
