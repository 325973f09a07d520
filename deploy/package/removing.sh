#!/bin/sh
# Before the package's files go; dpkg and rpm say differently whether an upgrade follows. The chain's directory stays.
set -e
case "${1:-remove}" in
upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	systemctl disable --now cairn.service || echo "cairn.service could not be stopped: systemctl status cairn" >&2
fi
