#!/bin/sh
# Compares the committed pages with their sources, and tests them: first the functions that need no page, then the pages
# in a real Chromium against this repository's node, built with the verifier of proofs. Chromium is installed where it
# is missing.
set -eu
cd "$(dirname "$0")"
root=$PWD/../..

sh ../../scripts/need.sh "the explorer's tests" chromium:chromium
rm -rf build
sh build.sh "$PWD/build/dist"
diff -r build/dist "$root/internal/server/explorer/dist" || {
	echo "internal/server/explorer/dist is not what the sources give: run web/explorer/build.sh" >&2
	exit 1
}
npx tsc -p test/tsconfig.json
node --test build/test/pure.test.js
sh "$root/proof/wasm/build.sh" "$root/internal/server/explorer/verifier"
CGO_ENABLED=0 go build -o build/cairn "$root/cmd/cairn"
CAIRN=$PWD/build/cairn node --test build/test/explorer.test.js build/test/accounts.test.js build/test/walk.test.js build/test/journal.test.js
