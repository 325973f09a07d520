#!/bin/sh
# Runs every test. What the tests need beside Go (python3, for the independent client) is installed where it is missing.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

if ! command -v python3 >/dev/null; then
	echo "python3 is needed by the independent client's test: installing it" >&2
	root=""
	[ "$(id -u)" = 0 ] || root=sudo
	$root apt-get update -qq
	$root apt-get install -y -qq python3 >/dev/null
fi

go vet ./...
unformatted=$(gofmt -l $(git ls-files '*.go' 2>/dev/null || find . -name '*.go'))
if [ -n "$unformatted" ]; then
	echo "not formatted with gofmt: $unformatted" >&2
	exit 1
fi
go test ./...
