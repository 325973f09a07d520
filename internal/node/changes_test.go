package node

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/role"
)

// A condition is logged once, even if its numbers change, after it has lasted for the minimum time of its kind.
func TestChangesAreToldOnce(t *testing.T) {
	var lines bytes.Buffer
	c := newChanges(slog.New(slog.NewTextHandler(&lines, nil)))
	began := time.Unix(1_700_000_000, 0)
	for _, seen := range []struct {
		at time.Duration
		role.Fact
	}{
		{0, role.Fact{Of: "ready", Text: "ready", Usual: true}},
		{0, role.Fact{Of: "pressure", Text: "room again", Usual: true}},
		{1, role.Fact{Of: "ready", Text: "15 blocks behind", Stays: 2}},
		{2, role.Fact{Of: "ready", Text: "16 blocks behind", Stays: 2}},
		{3, role.Fact{Of: "ready", Text: "17 blocks behind", Stays: 2}}, // lasted long enough: logged
		{4, role.Fact{Of: "ready", Text: "18 blocks behind", Stays: 2}},
		{5, role.Fact{Of: "ready", Text: "ready", Stays: 2}}, // only briefly: not logged
		{6, role.Fact{Of: "ready", Text: "19 blocks behind", Stays: 2}},
		{7, role.Fact{Of: "pressure", Text: "nearly full"}},
		{8, role.Fact{Of: "pressure", Text: "room again", Usual: true}},
		{9, role.Fact{Of: "leader", Is: "term 1", Text: "a leads now, term 1"}},
		{9, role.Fact{Of: "leader", Is: "term 2", Text: "a leads now, term 2"}},
		{9, role.Fact{Of: "leader", Is: "term 2", Text: "a leads again, term 2"}},
	} {
		c.observe(seen.Fact, began.Add(seen.at))
	}
	var got []string
	for line := range strings.Lines(lines.String()) {
		_, message, _ := strings.Cut(strings.TrimSpace(line), "msg=")
		got = append(got, strings.Trim(message, `"`))
	}
	want := []string{"17 blocks behind", "nearly full", "room again", "a leads now, term 1", "a leads now, term 2"}
	if !slices.Equal(got, want) {
		t.Errorf("the log was told %q, want %q", got, want)
	}
}
