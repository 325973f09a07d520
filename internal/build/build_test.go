package build

import (
	"strings"
	"testing"
)

func TestInfo(t *testing.T) {
	const revision = "0a85289c0ffee0a85289c0ffee0a85289c0ffee0"
	tests := []struct {
		name                  string
		version, commit, date string
		stamps                map[string]string
		want                  Info
		line                  string
	}{
		{
			name: "nothing known",
			want: Info{Version: Next + "-dev"},
			line: "cairn " + Next + "-dev, go",
		},
		{
			name:   "a commit",
			stamps: map[string]string{"vcs.revision": revision, "vcs.time": "2026-11-23T00:00:00Z", "vcs.modified": "false"},
			want:   Info{Version: Next + "-dev+0a85289", Commit: revision, Date: "2026-11-23T00:00:00Z"},
			line:   "cairn " + Next + "-dev+0a85289, commit 0a85289c0ffe of 2026-11-23T00:00:00Z, go",
		},
		{
			name:   "changes beside a commit",
			stamps: map[string]string{"vcs.revision": revision, "vcs.modified": "true"},
			want:   Info{Version: Next + "-dev+0a85289.modified", Commit: revision, Modified: true},
			line:   "cairn " + Next + "-dev+0a85289.modified, commit",
		},
		{
			name:    "a release",
			version: "0.2.0",
			commit:  revision,
			date:    "2026-11-23T00:00:00Z",
			stamps:  map[string]string{"vcs.revision": "another", "vcs.modified": "true"},
			want:    Info{Version: "0.2.0", Commit: revision, Date: "2026-11-23T00:00:00Z"},
			line:    "cairn 0.2.0, commit 0a85289c0ffe of",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			version, commit, date = test.version, test.commit, test.date
			t.Cleanup(func() { version, commit, date = "", "", "" })
			got := info(test.stamps)
			if line := got.String(); !strings.HasPrefix(line, test.line) {
				t.Errorf("line %q, want %q at its beginning", line, test.line)
			}
			got.Go, got.OS, got.Arch = "", "", ""
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
