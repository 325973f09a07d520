#!/bin/sh
# Runs every test. It installs missing tools that the tests need besides Go: python3 and zstd for the independent
# client, curl for the calls in the documentation, Node.js and Chromium for the verifier in WebAssembly, nginx and
# HAProxy for the configurations of balancers.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

PATH=$PATH:/usr/sbin
sh scripts/need.sh "the tests" python3:python3 curl:curl zstd:zstd node:nodejs chromium:chromium nginx:nginx haproxy:haproxy

go vet ./...
go -C workshop vet ./...
unformatted=$(gofmt -l $(git ls-files '*.go' 2>/dev/null || find . -name '*.go'))
if [ -n "$unformatted" ]; then
	echo "not formatted with gofmt: $unformatted" >&2
	exit 1
fi
# The code was vetted before. The end-to-end tests take almost ten minutes on two slow processors, so their timeout is
# longer.
go test -vet=off -timeout 30m ./...
go -C workshop test -vet=off -timeout 30m ./...
