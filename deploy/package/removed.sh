#!/bin/sh
# After the package's files are gone, or an upgrade replaced them: systemd forgets units that are not there any more.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
