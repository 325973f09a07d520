#!/bin/sh
# Runs every fuzz target of the project for the given time (default 30s), one after the other.
#
# It does not minimize new inputs, which by default takes up to a minute each. In code whose loops follow the bits of a
# number, nearly every input is new, and minimizing would take all the time.
set -eu
cd "$(dirname "$0")/.."
time=${1:-30s}
git ls-files '*_test.go' | xargs grep -l '^func Fuzz' | while read -r file; do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "== $(dirname "$file") $target"
		(cd "$(dirname "$file")" && go test . -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x) || exit 1
	done
done
