#!/bin/sh
# Runs the tests of soundness in their long form, and prints their counts. They delete each constraint in turn, put a
# wrong value into each column, change lists, statements and every byte of a bundle, and give forged and spliced bundles
# to both verifiers. They also compare the roots of random batches and ranges of blocks (default 100000 each) with the
# tree's. The script fails if a false proof passes or an honest one does not.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

count() {
	if ! go test -count 1 -timeout 5h -v "$@" >"$out" 2>&1; then
		cat "$out"
		exit 1
	fi
	# Prints a test's name and its count.
	sed -n -e 's/^=== RUN  *\(Test[A-Za-z0-9]*\)$/\1/p' -e 's/^    [a-z_0-9]*_test.go:[0-9]*: /    /p' "$out"
}

count ./internal/proof/air/ ./internal/proof/verifier/
count ./internal/protocol/blockproof/ -args -batches "${1:-100000}" -ranges "${1:-100000}"
count ./internal/testkit/ -run 'BothVerifiers|ChangedBundles|ForgedBundles' -args -every-byte
