#!/bin/sh
# Runs every test. What the tests need beside Go is installed where it is missing: python3 and zstd for the independent
# client, curl for the calls in the documentation, Node.js and Chromium for the verifier in WebAssembly, nginx and
# HAProxy for the configurations of balancers.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

missing=""
PATH=$PATH:/usr/sbin
for need in python3:python3 curl:curl zstd:zstd node:nodejs chromium:chromium nginx:nginx haproxy:haproxy; do
	command -v "${need%:*}" >/dev/null || missing="$missing ${need#*:}"
done
if [ -n "$missing" ]; then
	echo "the tests need$missing: installing" >&2
	root=""
	[ "$(id -u)" = 0 ] || root=sudo
	for server in nginx haproxy; do # Debian starts them where it installs them; only their programs are wanted
		case "$missing" in *"$server"*) [ ! -d /run/systemd/system ] || $root systemctl mask "$server" ;; esac
	done
	$root apt-get update -qq
	# shellcheck disable=SC2086 # packages are words
	$root apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

go vet ./...
unformatted=$(gofmt -l $(git ls-files '*.go' 2>/dev/null || find . -name '*.go'))
if [ -n "$unformatted" ]; then
	echo "not formatted with gofmt: $unformatted" >&2
	exit 1
fi
# It was vetted whole. The end-to-end tests take most of ten minutes on two slow processors, and are given more.
go test -vet=off -timeout 30m ./...
