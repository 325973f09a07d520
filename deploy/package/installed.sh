#!/bin/sh
# After the package's files are there. The service is neither switched on nor started: a node needs its directory first.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# An upgrade goes on with the new program.
	systemctl try-restart cairn.service
fi
