package datadir

import "testing"

// Root is told the command that reaches a directory as its owner: the user alone does not reach what systemd keeps.
func TestAsOwner(t *testing.T) {
	args := []string{"cairn", "cluster", "join"}
	for path, want := range map[string]string{
		"/srv/chain": "setpriv --reuid=7 --regid=8 --clear-groups cairn cluster join",
		"/var/lib/private/cairn": "systemd-run --pty --wait -p User=cairn -p DynamicUser=yes -p StateDirectory=cairn " +
			"cairn cluster join",
	} {
		if got := asOwner(path, 7, 8, args); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
