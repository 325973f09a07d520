#!/bin/sh
# Runs the tests of what no false proof may pass, in their long form, and prints what they count: each constraint deleted
# in turn, a wrong value in each column, other lists, other statements, every byte of a bundle, forged and spliced bundles
# with both verifiers, and so many random batches and ranges of blocks (default 100000 each) whose roots must be the
# tree's. Any that passes, or an honest one that does not, makes it fail.
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
	# A test's name, and what it counted.
	sed -n -e 's/^=== RUN  *\(Test[A-Za-z0-9]*\)$/\1/p' -e 's/^    [a-z_0-9]*_test.go:[0-9]*: /    /p' "$out"
}

count ./internal/proof/air/ ./internal/proof/verifier/
count ./internal/protocol/blockproof/ -args -batches "${1:-100000}" -ranges "${1:-100000}"
count ./internal/testkit/ -run 'BothVerifiers|ChangedBundles|ForgedBundles' -args -every-byte
