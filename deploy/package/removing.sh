#!/bin/sh
# Runs before the package's files are removed. dpkg and rpm have different arguments for an upgrade. The chain's
# directory stays.
set -e
case "${1:-remove}" in
upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	for unit in cairn.service cairn-signer.service; do
		systemctl disable --now "$unit" || echo "$unit could not be stopped: systemctl status $unit" >&2
		# systemd would still list a failed unit after its file is removed.
		systemctl reset-failed "$unit" 2>/dev/null || :
	done
fi
