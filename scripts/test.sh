#!/bin/sh
# Runs every test. What the tests need beside Go (python3 and zstd, for the independent client) is installed where it is missing.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

missing=""
for tool in python3 zstd; do
	command -v $tool >/dev/null || missing="$missing $tool"
done
if [ -n "$missing" ]; then
	echo "the independent client's tests need$missing: installing" >&2
	root=""
	[ "$(id -u)" = 0 ] || root=sudo
	$root apt-get update -qq
	$root apt-get install -y -qq $missing >/dev/null
fi

go vet ./...
unformatted=$(gofmt -l $(git ls-files '*.go' 2>/dev/null || find . -name '*.go'))
if [ -n "$unformatted" ]; then
	echo "not formatted with gofmt: $unformatted" >&2
	exit 1
fi
go test ./...
