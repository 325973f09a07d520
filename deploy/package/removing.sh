#!/bin/sh
# Before the package's files go; dpkg and rpm say differently whether an upgrade follows. The chain's directory stays.
set -e
case "${1:-remove}" in
upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	for unit in cairn.service cairn-signer.service; do
		systemctl disable --now "$unit" || echo "$unit could not be stopped: systemctl status $unit" >&2
		# One that failed would still be known after its file is gone.
		systemctl reset-failed "$unit" 2>/dev/null || :
	done
fi
