#!/bin/sh
# Installs the runtimes and bundlers that the lock file names, and runs the packed SDK in each. CAIRN is the node's program.
set -eu
cd "$(dirname "$0")"

sh ../../../scripts/need.sh "the test of runtimes" chromium:chromium
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts --no-audit --no-fund --loglevel error
node run.mjs
