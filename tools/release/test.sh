#!/bin/sh
# Makes a release twice, from two clones with irrelevant differences, compares the bytes, and uses each file as its user
# would. As root it also installs the packages, in temporary copies of this system. CACHE=own compiles everything again
# the second time.
set -eu
cd "$(dirname "$0")"
root=$(git rev-parse --show-toplevel)
version=0.0.1-test

sh ../../scripts/need.sh "the release's test" openssl:openssl rpm:rpm python3:python3 npm:npm skopeo:skopeo

t=$(mktemp -d)
trap 'chmod -R u+w "$t"; rm -rf "$t"' EXIT
fail() {
	echo "release: $*" >&2
	exit 1
}

go vet ./...
go test . # every file that the pages name is released
go build -o "$t/release" .
openssl genpkey -algorithm ed25519 -out "$t/key.pem" 2>/dev/null
openssl pkey -in "$t/key.pem" -pubout -out "$t/public.pem"

# make CLONE OUT makes the release of this system from a clone.
system=linux/$(go env GOARCH)
make() {
	git clone -q "$root" "$1"
	(cd "$1" && "$t/release" -version "$version" -out "$2" -targets "$system" -key "$t/key.pem" >/dev/null)
}
make "$t/a" "$t/first"
mkdir -p "$t/another directory/with a longer name" "$t/scratch"
(
	umask 077
	export TZ=Pacific/Chatham TMPDIR="$t/scratch" LC_ALL=C USER=somebody
	[ "${CACHE:-}" != own ] || export GOCACHE="$t/cache"
	make "$t/another directory/with a longer name/b" "$t/second"
)
(cd "$t/first" && sha256sum --quiet -c SHA256SUMS)
diff -r "$t/first" "$t/second" || fail "the bytes are not the same"
[ "$(find "$t/scratch" -mindepth 1 | wc -l)" = 0 ] || fail "something is left in the directory for temporary files"
echo "$(ls "$t/first" | wc -l) files, the same bytes twice"

# The documentation is a site that needs no server.
tar -xzf "$t/first/cairn-$version-docs.tar.gz" -C "$t"
grep -q "<title>" "$t/cairn-$version-docs/index.html" || fail "the documentation has no first page"

# The files must not name this machine.
name=cairn-$version-linux-$(go env GOARCH)
mkdir "$t/archive"
tar -xzf "$t/first/$name.tar.gz" -C "$t/archive"
program=$t/archive/$name/cairn
for path in "$t" "$(go env GOMODCACHE)" "$(go env GOROOT)/src"; do
	if grep -aqF "$path" "$program"; then
		fail "the program has a path of this machine in it, below $path"
	fi
done
grep -aqF 'verifier/verifier.wasm' "$program" || fail "the program has no verifier for the explorer's pages in it"
"$program" version --json | python3 -c '
import json, sys
v = json.load(sys.stdin)["result"]
assert v["version"] == sys.argv[1] and v["commit"] == sys.argv[2] and not v["modified"], v
' "$version" "$(git -C "$root" rev-parse HEAD)"
python3 - "$t/first/$name.cdx.json" "$(go version -m "$program" | grep -c '^	dep')" <<'PYTHON'
import json, sys
bom = json.load(open(sys.argv[1]))
assert bom["bomFormat"] == "CycloneDX" and len(bom["components"]) == int(sys.argv[2]) + 1, len(bom["components"])
PYTHON

echo "install.sh"
install() { sh "$1/install.sh" --version "$version" --prefix "$t/prefix" --base "file://$1" --key "$t/public.pem"; }
PATH="$t/prefix/bin:$PATH" install "$t/first" >/dev/null
"$t/prefix/bin/cairn" help >/dev/null
[ -f "$t/prefix/share/man/man1/cairn-node.1" ] || fail "install.sh installed no manual page"
[ -f "$t/prefix/share/doc/cairn/deploy/haproxy.cfg" ] || fail "install.sh installed no configurations"
refused() { # MESSAGE
	rm -rf "$t/prefix"
	if install "$t/second" >/dev/null 2>"$t/said"; then
		fail "install.sh took $1"
	fi
	grep -q "$2" "$t/said" || fail "install.sh says of $1: $(cat "$t/said")"
	[ ! -e "$t/prefix" ] || fail "install.sh installed $1"
}
cp "$t/second/$name.tar.gz" "$t/kept"
printf 'x' >>"$t/second/$name.tar.gz"
refused "an archive with another sum" "has the sum"
mv "$t/kept" "$t/second/$name.tar.gz"
sed -i 's/^./0/' "$t/second/SHA256SUMS"
refused "sums that nobody signed" "signature"
rm "$t/second/SHA256SUMS"
refused "a release without sums" "cannot be had"

echo "packages"
rpm -qp --nosignature --qf '%{NAME} %{VERSION}~%{RELEASE} %{LICENSE}\n' "$t/first/$name.rpm" >/dev/null
mkdir "$t/fedora" "$t/debian"
(cd "$t/fedora" && rpm2archive -n "$t/first/$name.rpm" >/dev/null 2>&1 || rpm2archive "$t/first/$name.rpm" >/dev/null && mv "$t/first/$name.rpm.t"* . && tar -xf ./*.rpm.t*)
cmp "$t/fedora/usr/bin/cairn" "$program"
dpkg-deb -x "$t/first/$name.deb" "$t/debian"
cmp "$t/debian/usr/bin/cairn" "$program"
for unit in cairn cairn-signer; do
	grep -q '^ExecStart=/usr/bin/cairn ' "$t/debian/usr/lib/systemd/system/$unit.service"
done
for file in haproxy.cfg nginx.conf prometheus.yml alerts.yml grafana.json; do
	[ -f "$t/debian/usr/share/doc/cairn/deploy/$file" ] || fail "the package has no deploy/$file"
done
# installed FORMAT INSTALL REMOVE installs a package in a temporary copy of this system, uses it and removes it.
installed() {
	mkdir "$t/system-$1"
	# Its service: the command of the unit, with its directory, serves until it is stopped.
	unshare --mount --pid --fork --kill-child sh -eu -c '
		mount -t tmpfs tmpfs "$1"
		mkdir "$1/upper" "$1/work" "$1/merged"
		mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/merged"
		cp "$2" "$1/merged/package"
		chroot "$1/merged" $4 /package
		mount -t proc proc "$1/merged/proc"
		chroot "$1/merged" /usr/bin/cairn version
		[ "$(stat -c %a:%U "$1/merged/etc/cairn")" = 700:root ]
		chroot "$1/merged" /usr/bin/cairn init /var/lib/cairn --alloc "$3=1000"
		mkdir -m 700 "$1/merged/var/lib/cairn-locks" # as StateDirectory= does
		command=$(sed -n "s/^ExecStart=//p" "$1/merged/usr/lib/systemd/system/cairn.service")
		chroot "$1/merged" $command --rpc-addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 --ready-file /ready.json &
		node=$!
		until [ -e "$1/merged/ready.json" ]; do kill -0 $node; done
		url=$(sed -n "s/.*\"rpc\": *\"\([^\"]*\)\".*/\1/p" "$1/merged/ready.json")
		chroot "$1/merged" /usr/bin/cairn account "$3" --rpc-url "$url"
		kill $node
		wait $node
		# The sign state is outside the directory of the chain, and outlives it.
		ls "$1/merged/var/lib/cairn-locks" | grep -q "^signed-"
		# Its removal, with a fake systemd that records the requests in order. The chain stays.
		mkdir -p "$1/merged/run/systemd/system"
		rm -f "$1/merged/usr/bin/systemctl"
		printf "%s\n" "#!/bin/sh" "echo \"\$*\" >>/asked" >"$1/merged/usr/bin/systemctl"
		chmod 755 "$1/merged/usr/bin/systemctl"
		chroot "$1/merged" $5 cairn
		[ ! -e "$1/merged/usr/bin/cairn" ]
		[ -e "$1/merged/var/lib/cairn/db" ]
		grep -q "disable --now cairn.service" "$1/merged/asked"
		[ "$(tail -n 1 "$1/merged/asked")" = daemon-reload ]
	' sh "$t/system-$1" "$t/first/$name.$1" bcrt1p6g8r5e8jvnvukaqgdauwag8lfkzvz3dng4057kv7avnpxpkghdkszxhwd4 "$2" "$3" \
		>"$t/said" 2>&1 || fail "the package $1 cannot be installed: $(cat "$t/said")"
}
if [ "$(id -u)" = 0 ]; then
	installed deb "dpkg -i" "dpkg -r"
	installed rpm "rpm -i --nodeps" "rpm -e" # on Debian, rpm's database has none of its dependencies
fi

echo "image"
mkdir "$t/image" "$t/rootfs"
tar -xf "$t/first/cairn-$version-image.tar" -C "$t/image"
python3 - "$t/image" "$t/rootfs" <<'PYTHON'
import gzip, hashlib, io, json, pathlib, sys, tarfile
layout = pathlib.Path(sys.argv[1])
def blob(descriptor):
    content = (layout / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes()
    assert "sha256:" + hashlib.sha256(content).hexdigest() == descriptor["digest"] and len(content) == descriptor["size"]
    return content
assert json.loads((layout / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
images = json.loads(blob(json.loads((layout / "index.json").read_text())["manifests"][0]))
manifest = json.loads(blob(images["manifests"][0]))
config = json.loads(blob(manifest["config"]))
for layer, diff in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
    content = gzip.decompress(blob(layer))
    assert "sha256:" + hashlib.sha256(content).hexdigest() == diff
    tarfile.open(fileobj=io.BytesIO(content)).extractall(sys.argv[2])
assert config["config"]["Entrypoint"] == ["/cairn"] and config["config"]["User"] == "65532:65532"
PYTHON
cmp "$t/rootfs/cairn" "$program"
[ "$(id -u)" != 0 ] || chroot "$t/rootfs" /cairn version >/dev/null
# Under the name on the page. skopeo unpacks the same image that podman runs.
skopeo --insecure-policy copy --quiet "oci-archive:$t/first/cairn-$version-image.tar:cairn:$version" "dir:$t/loaded" ||
	fail "the image is not called cairn:$version"

echo "npm"
mkdir "$t/project"
(
	cd "$t/project"
	echo '{"type": "module"}' >package.json
	npm install --ignore-scripts --loglevel error --no-audit --no-fund "$t/first/"*.tgz
	cat >use.js <<'JAVASCRIPT'
import { formatCoins } from "@cairn-chain/sdk";
import { readFile } from "node:fs/promises";
if (formatCoins(150000000n) !== "1.5") throw new Error(formatCoins(150000000n));
const verifier = JSON.parse(await readFile("node_modules/@cairn-chain/proof/package.json", "utf8"));
if (!verifier.version) throw new Error("no version");
JAVASCRIPT
	node use.js
)
echo "1 passed, 0 failed"
