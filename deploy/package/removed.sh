#!/bin/sh
# Runs after the package's files were removed, or replaced by an upgrade: systemd forgets units that no longer exist.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
