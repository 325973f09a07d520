#!/bin/sh
# Installs a release of Cairn. It checks its downloads by the release's sums, and the sums by their signature, before it
# installs anything.
#
#   sh install.sh [--version VERSION] [--prefix DIRECTORY] [--base URL] [--key FILE]
#
# VERSION is the release's, without v. DIRECTORY is /usr/local for root and ~/.local for others: the program goes to its
# bin, manual pages and completions to its share, units, configurations and example contracts to its share/doc/cairn.
# URL is the location of the release's files (https:// or file://). FILE is the public key, in PEM, that signed the sums
# (openssl checks it). Without FILE the script checks only the sums, and says so.
set -eu

version=${CAIRN_VERSION:-0.2.0}
base=${CAIRN_BASE_URL:-}
key=${CAIRN_RELEASE_KEY:-}
prefix=/usr/local
[ "$(id -u)" = 0 ] || prefix=$HOME/.local

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

while [ $# -gt 0 ]; do
	[ $# -ge 2 ] || fail "$1 needs a value"
	case $1 in
	--version) version=$2 ;;
	--prefix) prefix=$2 ;;
	--base) base=$2 ;;
	--key) key=$2 ;;
	*) fail "there is no option $1: they are --version, --prefix, --base and --key" ;;
	esac
	shift 2
done
base=${base:-https://github.com/cairn-chain/cairn/releases/download/v$version}

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "there is no program for $(uname -s): take an archive by hand" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no program for processors of the kind $(uname -m)" ;;
esac

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
trap 'exit 1' INT TERM

# fetch NAME downloads a file of the release.
fetch() {
	case $base in
	file://*) cp "${base#file://}/$1" "$directory/$1" ;;
	https://*)
		if command -v curl >/dev/null; then
			curl --proto '=https' --tlsv1.2 -fsSL -o "$directory/$1" "$base/$1"
		elif command -v wget >/dev/null; then
			wget -q --https-only -O "$directory/$1" "$base/$1"
		else
			fail "it needs curl or wget"
		fi
		;;
	*) fail "$base is neither https:// nor file://" ;;
	esac || fail "$base/$1 cannot be had"
}

sum() {
	if command -v sha256sum >/dev/null; then
		sha256sum "$1"
	else
		shasum -a 256 "$1"
	fi | cut -d ' ' -f 1
}

name=cairn-$version-$os-$arch
fetch SHA256SUMS
if [ -n "$key" ]; then
	command -v openssl >/dev/null || fail "it needs openssl to check the signature"
	fetch SHA256SUMS.sig
	openssl pkeyutl -verify -pubin -inkey "$key" -rawin -in "$directory/SHA256SUMS" -sigfile "$directory/SHA256SUMS.sig" >/dev/null 2>&1 ||
		fail "the signature of SHA256SUMS is not of the key $key: nothing was installed"
else
	echo "install.sh: without --key only the sums are checked, not who made them" >&2
fi
want=$(awk -v name="$name.tar.gz" '$2 == name { print $1 }' "$directory/SHA256SUMS")
[ -n "$want" ] || fail "the release has no $name.tar.gz"
fetch "$name.tar.gz"
got=$(sum "$directory/$name.tar.gz")
[ "$got" = "$want" ] || fail "$name.tar.gz has the sum $got, not $want: nothing was installed"

tar -xzf "$directory/$name.tar.gz" -C "$directory"
from=$directory/$name
# put MODE FILE… DIRECTORY copies files. It replaces the program itself by a rename, so that a running one continues.
put() {
	mode=$1
	shift
	for last; do :; done
	mkdir -p "$last"
	while [ $# -gt 1 ]; do
		cp "$1" "$last/.cairn-new"
		chmod "$mode" "$last/.cairn-new"
		mv -f "$last/.cairn-new" "$last/${1##*/}"
		shift
	done
}
put 644 "$from"/man/*.1 "$prefix/share/man/man1"
put 644 "$from/completions/cairn" "$prefix/share/bash-completion/completions"
put 644 "$from/completions/_cairn" "$prefix/share/zsh/site-functions"
put 644 "$from/completions/cairn.fish" "$prefix/share/fish/vendor_completions.d"
put 644 "$from"/deploy/* "$prefix/share/doc/cairn/deploy"
put 644 "$from"/contracts/wasm/* "$prefix/share/doc/cairn/contracts/wasm"
put 755 "$from/cairn" "$prefix/bin"
"$prefix/bin/cairn" version
case ":$PATH:" in
*":$prefix/bin:"*) ;;
*) echo "install.sh: $prefix/bin is not in PATH: export PATH=\"$prefix/bin:\$PATH\"" >&2 ;;
esac
