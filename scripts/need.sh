#!/bin/sh
# Installs the packages that a script needs and this machine lacks, with apt, after printing them:
#
#   sh scripts/need.sh WHO PROGRAM:PACKAGE[,PACKAGE…]…
#
# PROGRAM is a name on the PATH, or the path of a file.
set -eu
who=$1
shift
PATH=$PATH:/usr/sbin
missing=""
for need; do
	program=${need%%:*}
	case $program in
	/*) [ ! -e "$program" ] || continue ;;
	*) ! command -v "$program" >/dev/null || continue ;;
	esac
	missing="$missing $(echo "${need#*:}" | tr , ' ')"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
	echo "$who need these of Debian's packages, or what your system has instead:$missing" >&2
	exit 1
fi
root=""
[ "$(id -u)" = 0 ] || root="sudo "
exec 9<"$0" && flock 9 # two instances would disturb each other
install="${root}apt-get install -y --no-install-recommends$missing"
echo "$who need what this machine lacks. It is installed now: $install" >&2
for server in nginx haproxy prometheus; do # Debian starts these at their installation
	case "$missing" in *"$server"*) [ ! -d /run/systemd/system ] || ${root}systemctl mask "$server" ;; esac
done
${root}apt-get update -qq
$install -qq >/dev/null
