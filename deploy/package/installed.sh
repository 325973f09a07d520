#!/bin/sh
# Runs after the package's files are installed. It neither enables nor starts services, because a node needs its
# directory first.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# An upgrade restarts running services with the new program.
	systemctl try-restart cairn.service cairn-signer.service
fi
