#!/bin/sh
# After the package's files are there. Services are neither switched on nor started: a node needs its directory first.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# An upgrade goes on with the new program.
	systemctl try-restart cairn.service cairn-signer.service
fi
