package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/api"
)

// nextProgram is a program whose database has the format after the present one.
type nextProgram struct {
	path    string
	present int // format
}

var formatLine = regexp.MustCompile(`(?m)^(\tformat +=) (\d+)$`)

var buildNextFormat = sync.OnceValues(func() (next nextProgram, err error) {
	const file = "internal/storage/chain/store.go"
	original, err := filepath.Abs(filepath.Join("../..", file))
	if err != nil {
		return next, err
	}
	source, err := os.ReadFile(original)
	if err != nil {
		return next, err
	}
	line := formatLine.FindSubmatch(source)
	if line == nil {
		return next, fmt.Errorf("%s does not say which format it is", file)
	}
	if next.present, err = strconv.Atoi(string(line[2])); err != nil {
		return next, err
	}
	changed, overlay := filepath.Join(binaryDir, "store.go"), filepath.Join(binaryDir, "overlay.json")
	content := formatLine.ReplaceAll(source, fmt.Appendf(nil, "$1 %d", next.present+1))
	if err := os.WriteFile(changed, content, 0o600); err != nil {
		return next, err
	}
	mapping, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return next, err
	}
	if err := os.WriteFile(overlay, mapping, 0o600); err != nil {
		return next, err
	}
	next.path, err = compile("cairn-next", "-overlay", overlay)
	return next, err
})

func nextFormat(t *testing.T) nextProgram {
	t.Helper()
	next, err := buildNextFormat()
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// A node is moved to a new database format as the page about releases describes. The new program refuses the directory,
// and names the command that converts it. Afterwards all acknowledged transactions are in blocks.
func TestMoveOverAChangeOfFormat(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir, moved := filepath.Join(root, "mychain"), filepath.Join(root, "new")
	h := &handover{t: t, load: newLoad(256)}
	u := newUser(t)
	u.succeeds(nil, append([]string{"init", dir, "--block-time", "200ms"}, h.load.allocations()...)...)
	node := start(t, "node", "--data-dir", dir, "--prove", "off")
	h.load.chainID = chainIDOf(t, h.client(node))
	h.await(node, "some blocks further", func(s api.SyncStatus) bool { return s.LocalHeight >= 3 })
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}
	node = start(t, "node", "--data-dir", dir, "--prove", "off", "--block-time", "1h")
	loading, stop := context.WithCancel(t.Context())
	sent := make(chan error, 1)
	go func() { sent <- h.load.run(loading, node.RPC) }()
	h.awaitLoad(500) // no transaction is in a block
	stop()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}

	next, built := *u, nextFormat(t)
	next.program = built.path
	way := "cairn db move --from " + dir
	for _, refused := range []failure{
		next.fails(exitUsage, append([]string{"node", "--data-dir", dir}, anyPorts...)...),
		next.fails(exitUsage, "db", "check", "--data-dir", dir),
	} {
		has, reads := fmt.Sprintf("format %d,", built.present), fmt.Sprintf("format %d", built.present+1)
		if !strings.Contains(refused.Message, has) || !strings.Contains(refused.Message, reads) ||
			!strings.Contains(refused.Message, way) {
			t.Errorf("the new program says %q, want both formats and %q", refused.Message, way)
		}
	}
	if told := next.run("doctor", "--data-dir", dir); told.code != exitFailed || !strings.Contains(told.stdout, way) {
		t.Errorf("doctor does not say %q: got %s, want code %v and %q", way, told, exitFailed, way)
	}
	next.succeeds(nil, "db", "move", "--from", dir, "--to", moved)
	next.succeeds(nil, "db", "check", "--data-dir", moved)
	again := launchProgram(t, next.program, "127.0.0.1:0", "node", "--data-dir", moved, "--prove", "off")
	if err := again.awaitReady(); err != nil {
		t.Fatal(err)
	}
	(&clusterOfNodes{t: t, nodes: map[string]*process{"moved": again}}).checkIncluded(h.load, "moved")
	if err := again.Stop(); err != nil {
		t.Error(err)
	}
	old := u.fails(exitUsage, append([]string{"node", "--data-dir", dir}, anyPorts...)...)
	if !strings.Contains(old.Message, "was moved to "+moved) {
		t.Errorf("the old directory says %q", old.Message)
	}
	u.succeeds(nil, "db", "check", "--data-dir", dir) // and has its data
}

// A cluster is moved to a new format member by member while it makes blocks. Each member keeps its identity, and no
// acknowledged transaction is lost.
func TestMoveAClusterOverAChangeOfFormat(t *testing.T) {
	t.Parallel()
	l := newLoad(64)
	c := newClusterOfNodes(t, l, "--prove", "off")
	c.programs = map[string]string{}
	c.join("b", "a")
	c.join("c", "a")
	l.chainID = chainIDOf(t, c.clientOf(c.nodes["a"]))
	before := c.status("a")
	for _, name := range []string{"c", "b", "a"} {
		other := c.other(name)
		loading, stop := context.WithCancel(t.Context())
		sent := make(chan error, 1)
		acknowledged := l.acknowledged()
		go func() { sent <- l.run(loading, c.nodes[other].RPC) }()
		c.await("transactions are acknowledged", func() bool { return l.acknowledged() > acknowledged+100 })
		if err := c.nodes[name].Stop(); err != nil {
			t.Fatal(err)
		}
		delete(c.nodes, name)
		u := newUser(t)
		u.program = nextFormat(t).path
		from := c.dirs[name]
		c.dirs[name], c.programs[name] = filepath.Join(t.TempDir(), name), u.program
		u.succeeds(nil, "db", "move", "--from", from, "--to", c.dirs[name])
		c.start(name)
		head, err := c.clientOf(c.nodes[other]).BlockNumber(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.awaitHeight(c.nodes[name], head)
		stop()
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		c.checkIncluded(l, name)
	}
	after := c.status("a")
	if len(after.Members) != len(before.Members) || after.Cluster != before.Cluster {
		t.Errorf("the cluster is %+v, and was %+v", after, before)
	}
	for i, m := range after.Members {
		if m.Pin != before.Members[i].Pin || !m.Voter {
			t.Errorf("member %+v, and was %+v", m, before.Members[i])
		}
	}
}
