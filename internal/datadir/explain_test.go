package datadir

import "testing"

// For root, the message has the command that opens a directory as its owner: being that user alone does not give access
// to a directory of systemd.
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
