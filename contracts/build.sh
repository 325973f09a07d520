#!/bin/sh
# Compiles the example contracts to contracts/wasm with `cairn contract build`. With --check it verifies the committed modules against a
# copy of the sources in another directory, as another user if this one is root, and fails if one differs or if a
# changed byte of source is not detected. It first installs missing tools; the compilation then has no network.
set -eu
cd "$(dirname "$0")"

sh ../scripts/need.sh "the contracts" /usr/bin/cargo:cargo,rustc /usr/bin/wasm-ld:lld \
	/usr/lib/rustlib/wasm32-unknown-unknown:libstd-rust-dev-wasm32 npm:nodejs,npm
(cd assemblyscript && npm ci --ignore-scripts --loglevel error --no-audit --no-fund)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
CGO_ENABLED=0 go build -o "$work/cairn" ../cmd/cairn
mkdir -m 777 "$work/out"

from=$PWD
user=""
if [ "${1:-}" = --check ]; then
	from=$work/copy
	modules=$from/assemblyscript/node_modules
	mkdir -p "$from/rust" "$modules"
	cp -r rust/cairn rust/examples rust/tests "$from/rust/"
	cp -r assemblyscript/sdk assemblyscript/examples assemblyscript/tests "$from/assemblyscript/"
	(cd assemblyscript/node_modules && cp -r assemblyscript binaryen long "$modules/")
	if [ "$(id -u)" = 0 ]; then
		chmod -R a+rX "$from"
		# Without a network, if this machine can take it away: a build downloads nothing.
		! unshare -n true 2>/dev/null || user="unshare -n"
		user="$user setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=$work/home"
		mkdir "$work/home"
		chown nobody "$work/home"
	fi
fi

# Prints a line for each contract: its directory, and the prefix of its module's name.
list() {
	for dir in "$from"/rust/examples/* "$from"/rust/tests/*/; do [ ! -e "$dir/Cargo.toml" ] || echo "$dir -"; done
	for dir in "$from"/assemblyscript/examples/* "$from"/assemblyscript/tests/*; do echo "$dir as-"; done
}
if [ "${1:-}" = --check ]; then
	list | xargs -P "$(nproc)" -L 1 sh -c "
		module=wasm/\${1#-}\$(basename \$0).wasm
		$user $work/cairn contract verify \$module --source \$0 --yes >/dev/null || { echo \$module >&2; exit 1; }
	"
	if told=$($user "$work/cairn" contract test "$from/rust/tests/bank" --no-tests --callback received 2>&1); then
		echo "the bank's invariant was found to hold" >&2
		exit 1
	fi
	case $told in *'the invariant "solvent" does not hold'*) ;; *) echo "$told" >&2; exit 1 ;; esac
	for counted in "rust - src/lib.rs" "assemblyscript {\"start\":0} assembly/index.ts"; do
		set -- $counted
		$user "$work/cairn" contract test "$from/$1/examples/counter" --no-tests --init "${2#-}" --coverage "$work/out/$1.info" >/dev/null
		grep -q "^SF:.*$3\$" "$work/out/$1.info"
		grep -q '^DA:[0-9]*,1$' "$work/out/$1.info"
	done
	# A refused call: the error names the line that refused it, in Rust even if that line was inlined.
	for refused in "rust add - src/lib.rs" "assemblyscript increase {\"start\":1} assembly/index.ts"; do
		set -- $refused
		calls=$work/out/$1.json
		args='"from":"alice","call":"'$2'","args":{"amount":18446744073709551615}'
		printf '{%s,"fails":%s}\n{%s}\n' "$args" "$([ "$1" = rust ] && echo false || echo true)" "$args" >"$calls"
		if told=$($user "$work/cairn" contract gas "$from/$1/examples/counter" --calls "$calls" --init "${3#-}" 2>&1); then
			echo "a refused call of $1 was taken for one that succeeds" >&2
			exit 1
		fi
		case $told in *"$4:"*"the count overflows"*) ;; *) echo "$told" >&2; exit 1 ;; esac
	done
	# A type that the ABI lacks: the compiler points at the type, not at the whole macro.
	source=$from/rust/examples/counter/src/lib.rs
	cp "$source" "$work/counter.rs"
	sed -i 's/Added { by: Account, amount: u64/Added { by: Account, amount: f32/' "$source"
	if told=$($user "$work/cairn" contract build "$from/rust/examples/counter" --out "$work/out" 2>&1); then
		echo "an event with a field of f32 was built" >&2
		exit 1
	fi
	case $told in *"src/lib.rs:$(grep -n f32 "$source" | cut -d: -f1):"*) ;; *) echo "$told" >&2; exit 1 ;; esac
	cp "$work/counter.rs" "$source"
	sed -i 's/the count overflows/the count overflowz/' "$from/rust/examples/counter/src/lib.rs" \
		"$from/assemblyscript/examples/counter/assembly/index.ts"
	for changed in rust:counter assemblyscript:as-counter; do
		dir=$from/${changed%:*}/examples/counter
		if told=$($user "$work/cairn" contract verify "wasm/${changed#*:}.wasm" --source "$dir" --yes 2>&1); then
			echo "a changed source of $changed was verified" >&2
			exit 1
		fi
		case $told in *"compiles to other code: section data"*) ;; *) echo "$told" >&2; exit 1 ;; esac
	done
	exit 0
fi
list | xargs -P "$(nproc)" -L 1 sh -c "
	name=\${1#-}\$(basename \$0)
	$work/cairn contract build \$0 --no-source --out $work/out/\$name >/dev/null
	cp $work/out/\$name/*.wasm wasm/\$name.wasm
"
