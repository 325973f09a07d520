#!/bin/sh
# An operator's day, following only the pages. Three machines, each with its own systemd as process 1 and a disk of 600
# MB, install a package, run a cluster under load, and suffer faults. It prints the beginning of each step, each time
# without an acknowledgement, and the losses at the end. It needs Linux, root and systemd, and three files:
#   sh day.sh OLD NEW OUTAGE
# OLD and NEW are packages, both .deb or both .rpm, with different formats of the database. OUTAGE is workshop/outage,
# built. Everything runs in separate namespaces and below a directory that is removed at the end, unless KEEP=1.
set -eu
[ "$#" = 3 ] || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
old=$(realpath "$1") new=$(realpath "$2") outage=$(realpath "$3")
if [ -z "${DAY:-}" ]; then # in a network of its own, the ports that the pages name are free
	DAY=$(mktemp -d) exec unshare --net --mount --propagation private sh ${TRACE:+-x} "$0" "$old" "$new" "$outage"
fi
ip link set lo up
echo "everything is below $DAY"

step() { echo "$(date +%T) === $*"; }
fail() {
	echo "$(date +%T) FAILED: $*" >&2
	exit 1
}

# boot NAME starts a machine with its existing disk.
boot() {
	local m r n pid
	m=$DAY/$1
	if [ ! -d "$m" ]; then
		mkdir "$m" "$m/disk" "$m/layers"
		mount -t tmpfs tmpfs "$m/layers"
		mkdir "$m/layers/upper" "$m/layers/work" "$m/layers/merged"
		truncate --size 600M "$m/disk.img"
		mkfs.ext4 -q -m 0 "$m/disk.img"
		mount -o loop "$m/disk.img" "$m/disk"
		cp -a /var/lib/dpkg "$m/disk/"
		mount -t overlay overlay -o "lowerdir=/,upperdir=$m/layers/upper,workdir=$m/layers/work" "$m/layers/merged"
		r=$m/layers/merged
		# The host's own services do not start, and its units do not wait for a network.
		rm -rf "$r"/etc/systemd/system/*.wants "$r"/etc/systemd/system/*.service "$r"/var/lib/systemd "$r"/etc/cairn
		for unit in getty.target getty@.service systemd-logind.service systemd-networkd.service systemd-resolved.service \
			systemd-timesyncd.service e2scrub_reap.service apt-daily.timer apt-daily-upgrade.timer; do
			ln -sf /dev/null "$r/etc/systemd/system/$unit"
		done
		echo "$1" >"$r/etc/hostname"
	fi
	unshare --mount --pid --uts --ipc --cgroup --fork --kill-child --propagation private \
		env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin container=other sh -euc '
		cd "$1/layers/merged"
		mount --bind "$1/disk" var/lib
		mount -t proc proc proc
		mount -t sysfs -o ro sysfs sys
		mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup 2>/dev/null && umount sys/fs/cgroup || :
		mount -t cgroup2 cgroup2 sys/fs/cgroup
		mount -t tmpfs -o mode=755 tmpfs run
		mount -t tmpfs -o mode=1777 tmpfs tmp
		mount -t tmpfs -o mode=755 tmpfs dev
		for d in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0"; do
			set -- "$1" $d
			mknod -m 666 "dev/$2" c "$3" "$4"
		done
		mkdir dev/pts dev/shm
		mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
		ln -s pts/ptmx dev/ptmx
		mount -t tmpfs -o mode=1777 tmpfs dev/shm
		mkdir -p run/before
		pivot_root . run/before
		umount -l run/before
		mount --make-rshared /
		exec /lib/systemd/systemd --unit=multi-user.target
	' sh "$m" >"$m/console" 2>&1 &
	echo $! >"$m/unshare"
	n=0
	until pid=$(pgrep -P "$(cat "$m/unshare")") && echo "$pid" >"$m/pid" &&
		on "$1" systemctl is-system-running 2>/dev/null | grep -qE "running|degraded"; do
		n=$((n + 1))
		[ $n -lt 100 ] || fail "$1 does not boot: $(tail -5 "$m/console")"
		sleep 0.2
	done
}

# crash NAME cuts a machine's power; data already written to its disk survives.
crash() { kill -9 "$(cat "$DAY/$1/unshare")" 2>/dev/null; wait "$(cat "$DAY/$1/unshare")" 2>/dev/null || :; }

# on NAME COMMAND… runs a command on a machine, as root.
on() {
	local m=$1
	shift
	nsenter -t "$(cat "$DAY/$m/pid")" -m -u -i -p -C -r -w env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"
}

end() {
	status=$?
	trap - EXIT
	for m in a b c; do
		[ ! -e "$DAY/$m/unshare" ] || crash $m
		[ ! -d "$DAY/$m" ] || { umount -l "$DAY/$m/layers/merged" "$DAY/$m/layers" "$DAY/$m/disk" || :; }
	done
	[ -z "${load:-}" ] || kill "$load" 2>/dev/null || :
	[ -n "${KEEP:-}" ] || rm -rf "$DAY"
	exit $status
}
trap end EXIT

# Ports of a machine: JSON-RPC, the admin address and the link are 7, 8 and 9 behind it.
port() { case $1 in a) echo 877 ;; b) echo 878 ;; c) echo 879 ;; esac }
url() { echo "http://127.0.0.1:$(port "$1")7"; }
admin() { echo "http://127.0.0.1:$(port "$1")8"; }
link() { echo "127.0.0.1:$(port "$1")9"; }
dir() { echo "$DAY/$1/disk/private/cairn"; } # the data directory of a machine's service, as a path of the host

# as NAME COMMAND… runs a command with the service's user and rights (docs/operators.md#as-a-service).
as() {
	local m=$1
	shift
	on "$m" systemd-run --quiet --pipe --wait -p User=cairn -p DynamicUser=yes -p "StateDirectory=cairn cairn-locks $more" \
		-p LoadCredential=cairn:/etc/cairn "$@"
}
more=

# await WHAT COMMAND… repeats a command until it succeeds, for at most a minute and a half.
await() {
	local what=$1 n
	shift
	n=0
	until "$@" >/dev/null 2>&1; do
		n=$((n + 1))
		[ $n -lt 450 ] || fail "not $what: $(for n in a b c; do on $n journalctl -u cairn -o cat --no-pager -n 30 | grep -vE "control group|found at" | grep -iE "error|warn" | tail -3; done 2>&1)"
		sleep 0.2
	done
}
ready() { curl -fs "$(admin "$1")/ready"; }
votes() { on "$1" cairn cluster status --admin "$(admin "$1")" --json | jq -e ".result.members[] | select(.name == \"$1\") | .voter"; }
ended() { [ "$(on "$1" systemctl show -p ActiveState --value cairn)" = failed ]; }
# says NAME TEXT… checks that the service's journal since the last start contains the texts.
says() {
	local m=$1 text
	shift
	for text; do
		on "$m" journalctl -u cairn -o cat --no-pager -n 40 | grep -qF -- "$text" ||
			fail "$m does not say \"$text\": $(on "$m" journalctl -u cairn -o cat --no-pager -n 5)"
	done
}
# refused NAME TEXT… checks that a service ended with exit code 2 and the message, and that nothing restarts it.
refused() {
	local code
	await "$1 refused" ended "$1"
	code=$(on "$1" systemctl show -p ExecMainStatus --value cairn)
	[ "$code" = 2 ] || fail "$1 ended with exit code $code, want 2"
	says "$@"
	on "$1" systemctl reset-failed cairn
}
leader() { local m; for m in a b c; do ! curl -fs "$(admin $m)/leader" >/dev/null || { echo $m; return; }; done; }

join() { # begin NAME PEER follows docs/cluster.md#begin.
	on "$1" install -d -m 700 /etc/cairn
	on "$1" mkdir -p /var/lib/cairn
	cp "$(dir "$2")/genesis.json" "$(dir "$2")/protocol.key" "$DAY/$1/disk/cairn/"
	settings "$1" >"$DAY/$1/disk/cairn/cairn.toml"
	pin=$(on "$1" cairn cluster join --data-dir /var/lib/cairn --name "$1" --address "$(link "$1")" --peer "$(link "$2")" \
		--peer-pin "$PIN" --json | jq -r .result.pin)
	on "$2" cairn cluster add "$1" --address "$(link "$1")" --pin "$pin" --admin "$(admin "$2")" \
		--admin-token-file /var/lib/cairn/admin.token
	on "$1" systemctl enable --quiet --now cairn
	await "that $1 votes" votes "$1"
}
settings() {
	printf 'rpc-addr = "%s"\nadmin-addr = "%s"\ncluster-addr = "%s"\nblock-time = "1s"\nprove = "off"\nrate-limit = 0\n' \
		"127.0.0.1:$(port "$1")7" "127.0.0.1:$(port "$1")8" "$(link "$1")"
}

kind=${new##*.}
# packages NAME COMMAND… runs the machine's package manager, dpkg or rpm.
packages() {
	local m=$1
	shift
	on "$m" "$@" >>"$DAY/$m/packages.log" 2>&1 || fail "$*: $(cat "$DAY/$m/packages.log")"
}
case $kind in # on Debian, rpm's database has no package's dependencies
rpm) add="rpm -U --nodeps" remove="rpm -e" ;;
*) add="dpkg -i" remove="dpkg -r" ;;
esac

step install
for m in a b c; do
	boot $m
	cp "$old" "$DAY/$m/disk/old.$kind"
	cp "$new" "$DAY/$m/disk/new.$kind"
	packages $m $add /var/lib/old.$kind
	on $m cairn version
done

step "a cluster of three"
on a install -d -m 700 /etc/cairn
# shellcheck disable=SC2046 # words
on a cairn init /var/lib/cairn --network regtest $("$outage" -accounts) >"$DAY/a/init.log"
on a mv /var/lib/cairn/admin.key /etc/cairn/
settings a >"$DAY/a/disk/cairn/cairn.toml"
PIN=$(on a cairn cluster init --data-dir /var/lib/cairn --name a --address "$(link a)" --json | jq -r .result.pin)
on a systemctl enable --quiet --now cairn
await "that a is ready" ready a
join b a
join c a
on a cairn cluster status --admin "$(admin a)"

step load
: >"$DAY/load.log"
"$outage" -send-to "$(url a),$(url b),$(url c)" -rate 150 -batch 1 >"$DAY/load.log" 2>&1 &
load=$!
tail -f --pid=$load "$DAY/load.log" &
sleep 5

step "rolling upgrade over a change of format"
last=$(leader)
for m in a b c; do [ $m = "$last" ] || upgrade="${upgrade:-} $m"; done
for m in $upgrade $last; do
	step "upgrade $m"
	on $m systemctl stop cairn
	packages $m $add /var/lib/new.$kind
	on $m systemctl start cairn
	refused $m "cairn db move --from /var/lib/cairn --to NEW"
	more=cairn-new as $m cairn db move --from /var/lib/cairn --to /var/lib/cairn-new
	on $m sh -c 'cd /var/lib/private && mv cairn cairn-old && mv cairn-new cairn && rm /var/lib/cairn-new'
	on $m systemctl start cairn
	await "that $m is ready" ready $m
done

step "a full disk"
on c sh -c 'cat /dev/zero >/var/lib/fill' 2>/dev/null || :
failed() { [ "$(on c systemctl show -p NRestarts --value cairn)" -gt 0 ] || ! on c systemctl is-active --quiet cairn; }
await "that c ends" failed
says c "no space left on device"
on c rm /var/lib/fill
await "that c is ready" ready c

step "a wrong key"
other=$(openssl rand -hex 32)
on b sh -c "cd /var/lib/cairn && cp -p protocol.key kept.key && echo $other >protocol.key"
on b systemctl restart cairn
refused b "the key of this member is that of"
on b sh -c "cd /var/lib/cairn && mv kept.key protocol.key"
on b systemctl start cairn
await "that b is ready" ready b

step "a wrong genesis"
on b sh -c 'cairn init /tmp/other >/dev/null && cd /var/lib/cairn && cp -p genesis.json kept.json && cat /tmp/other/genesis.json >genesis.json'
on b systemctl restart cairn
refused b "move the genesis file away"
on b sh -c "cd /var/lib/cairn && mv kept.json genesis.json"
on b systemctl start cairn
await "that b is ready" ready b

step "a lost leader"
lost=$(leader)
crash "$lost"
sleep 5
boot "$lost"
await "that $lost is ready" ready "$lost"

step "a damaged journal"
on b systemctl stop cairn
on b sh -c 'cd /var/lib/cairn && ls -l mempool.journal && printf "\377\377\377\377" | dd of=mempool.journal bs=1 seek=40 conv=notrunc 2>/dev/null'
on b systemctl start cairn
await "that b is ready" ready b

# again NAME replaces a member with a damaged disk (docs/cluster.md#operate).
again() {
	local l pin
	l=$(leader)
	on "$l" cairn cluster remove "$1" --admin "$(admin "$l")" --admin-token-file /var/lib/cairn/admin.token
	on "$1" sh -c 'cd /var/lib/cairn && rm -rf $(ls -A | grep -vE "^(genesis.json|protocol.key|cairn.toml)$")'
	pin=$(as "$1" cairn cluster join --data-dir /var/lib/cairn --name "$1" --address "$(link "$1")" --peer "$(link "$l")" \
		--peer-pin "$(on "$l" cairn cluster status --admin "$(admin "$l")" --json | jq -r ".result.members[] | select(.name == \"$l\") | .pin")" \
		--json | jq -r .result.pin)
	on "$l" cairn cluster add "$1" --address "$(link "$1")" --pin "$pin" --admin "$(admin "$l")" \
		--admin-token-file /var/lib/cairn/admin.token
	on "$1" systemctl start cairn
	await "that $1 votes" votes "$1"
}

step "a damaged table"
on b systemctl stop cairn
on b sh -c 'cd /var/lib/cairn/db && for f in *.sst; do printf "\377\377\377\377\377\377\377\377" | dd of=$f bs=1 seek=200 conv=notrunc 2>/dev/null; truncate -s -100 $f; done'
on b systemctl start cairn
refused b "is damaged" "cairn cluster remove NAME"
again b

step "rotation of the producer's key"
openssl rand -hex 32 >"$DAY/next.key"
echo password >"$DAY/password"
NEXT=$("$DAY/a/layers/merged/usr/bin/cairn" keys import next --home "$DAY/home" --private-key-file "$DAY/next.key" \
	--password-file "$DAY/password" --json | jq -r .result.address)
# rolling restarts the members one after the other, the leader last.
rolling() {
	local m l
	l=$(leader)
	for m in a b c; do [ "$m" = "$l" ] || restart $m "$@"; done
	restart "$l" "$@"
}
restart() {
	local m=$1
	shift
	"$@" "$m"
	on "$m" systemctl restart cairn
	await "that $m is ready" ready "$m"
}
give_next() {
	install -m 600 "$DAY/next.key" "$DAY/$1/layers/merged/etc/cairn/next.key"
	echo 'next-protocol-key = "/etc/cairn/next.key"' >>"$(dir "$1")/cairn.toml"
	echo 'protocol-key = "/etc/cairn/protocol.key"' >>"$(dir "$1")/cairn.toml"
	install -m 600 "$(dir "$1")/protocol.key" "$DAY/$1/layers/merged/etc/cairn/protocol.key"
}
take_next() {
	mv "$DAY/$1/layers/merged/etc/cairn/next.key" "$DAY/$1/layers/merged/etc/cairn/protocol.key"
	on "$1" sed -i /next-protocol-key/d /var/lib/cairn/cairn.toml
}
rolling give_next
on a cairn configure --producer "$NEXT" --admin-key /etc/cairn/admin.key --rpc-url "$(url a)"
rolling take_next

step "rotation of a certificate"
certify() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 365 -subj "/CN=$1" -addext subjectAltName=DNS:localhost -keyout "$DAY/tls.key" \
		-out "$DAY/tls.pem" 2>/dev/null
	for f in tls.key tls.pem; do cp "$DAY/$f" "$DAY/c/disk/$f" && on c install -m 600 -o cairn /var/lib/$f /var/lib/cairn/$f; done
}
certify first
on c sh -c 'printf "tls-cert = \"/var/lib/cairn/tls.pem\"\ntls-key = \"/var/lib/cairn/tls.key\"\n" >>/var/lib/cairn/cairn.toml'
on c systemctl restart cairn
await "that c is ready" ready c
served() { echo | openssl s_client -connect 127.0.0.1:8797 2>/dev/null | openssl x509 -noout -subject | grep -q "$1"; }
await "that the first certificate is served" served first
certify second
on c systemctl reload cairn
await "that the second certificate is served" served second

step "rotation of an API key"
keys() {
	printf '%s\n' "$@" >"$DAY/c/disk/keys"
	on c install -m 600 -o cairn /var/lib/keys /var/lib/cairn/keys
}
answers() { # KEY CODE
	[ "$(curl -sk -o "$DAY/answer" -w '%{http_code}' -H "Authorization: Bearer $1" -H 'Content-Type: application/json' \
		-d '{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber"}' https://127.0.0.1:8797)" = "$2" ]
}
former=$(openssl rand -hex 32) latter=$(openssl rand -hex 32)
keys "one:$former"
on c sh -c 'echo "api-key-file = \"/var/lib/cairn/keys\"" >>/var/lib/cairn/cairn.toml'
on c systemctl restart cairn
await "that c is ready" ready c
answers "$former" 200 || fail "the first key is refused: $(cat "$DAY/answer")"
answers "$latter" 401 || fail "a key that is in no file is not refused: $(cat "$DAY/answer")"
keys "one:$former" "two:$latter"
on c systemctl reload cairn
await "that the second key is taken" answers "$latter" 200
answers "$former" 200 || fail "the first key is refused too early: $(cat "$DAY/answer")"
keys "two:$latter"
on c systemctl reload cairn
await "that the first key is refused" answers "$former" 401
answers "$latter" 200 || fail "the second key is refused: $(cat "$DAY/answer")"

step "the end of the load"
kill -INT $load
wait $load || fail "the load: $(cat "$DAY/load.log")"
load=

step "restore from a backup"
l=$(leader)
as "$l" cairn db backup --admin "$(admin "$l")" --admin-token-file /var/lib/cairn/admin.token
for m in a b c; do on $m systemctl disable --now --quiet cairn; done
r=a
[ "$l" != a ] || r=b
on $r sh -c 'rm -rf /var/lib/private/cairn/* /var/lib/cairn-locks/*'
cp -a "$(dir "$l")"/backups/*/. "$(dir $r)"
printf 'rpc-addr = "127.0.0.1:%s7"\nadmin-addr = "127.0.0.1:%s8"\nblock-time = "1s"\nprove = "off"\nprotocol-key = "/etc/cairn/protocol.key"\n' \
	"$(port $r)" "$(port $r)" >"$(dir $r)/cairn.toml"
on $r systemctl start cairn
refused $r "the key's sign state (double-sign protection) is missing"
as $r cairn promote --from-dead --alone --yes --data-dir /var/lib/cairn --protocol-key /etc/cairn/protocol.key \
	--lock-dir /var/lib/cairn-locks
on $r systemctl enable --now --quiet cairn
await "that $r is ready" ready $r
on $r cairn status --rpc-url "$(url $r)"

step removal
for m in a b c; do
	packages $m $remove cairn
	! on $m systemctl cat cairn >/dev/null 2>&1 || fail "the unit is left on $m"
	on $m test -d /var/lib/private/cairn/db || fail "the chain of $m is gone"
done
step "the end of the day"
