package clustersim

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// planted is a bug in a member's code. It replaces a piece of the code by one that does the wrong thing if the bug's
// name is in the environment.
type planted struct {
	name   string
	soon   bool        // whether it is found within seconds
	breaks []Invariant // one of them
	in     []edit
}

type edit struct{ file, was, is string }

const (
	leadFile    = "internal/engine/cluster/lead.go"
	memberFile  = "internal/engine/cluster/member.go"
	sendFile    = "internal/engine/cluster/send.go"
	applyFile   = "internal/engine/cluster/apply.go"
	machineFile = "internal/engine/cluster/statemachine.go"
	linkFile    = "internal/engine/cluster/link.go"
	logFile     = "internal/storage/raftlog/log.go"
)

var bugs = []planted{
	{
		name:   "signs before commit",
		breaks: []Invariant{OneSignature, Decided},
		in: []edit{{leadFile, "l.proposed, l.made = true, d\n", `l.proposed, l.made = true, d
			if planted == "signs before commit" {
				m.env.Do(Executor, func() Event { _, _ = m.sign(d.Header()); return func(*Member) error { return nil } })
			}
`}},
	},
	{
		name:   "signs without applying",
		breaks: []Invariant{OneSignature, Decided},
		in: []edit{{memberFile, "s.soft = *rd.SoftState\n", `s.soft = *rd.SoftState
	if planted == "signs without applying" && s.soft.RaftState == raft.StateLeader {
		m.signLast()
	}
`}},
	},
	{
		name:   "proposes beside a proposal",
		breaks: []Invariant{Convergence},
		in: []edit{
			{leadFile, "if m.machine.Proposal() != nil {",
				`if m.machine.Proposal() != nil && planted != "proposes beside a proposal" {`},
			{leadFile, "|| m.proposal != nil ||",
				`|| m.proposal != nil && planted != "proposes beside a proposal" ||`},
			{leadFile, "!= term || m.machine.Proposal() != nil {",
				`!= term || m.machine.Proposal() != nil && planted != "proposes beside a proposal" {`},
		},
	},
	{
		name:   "takes a stale Release",
		soon:   true,
		breaks: []Invariant{Running},
		in: []edit{
			{machineFile, "c != nil && c.Index == e.Index {", `c != nil && (c.Index == e.Index || planted == "takes a stale Release") {`},
			{leadFile, "m.raw.Propose(Encode(Release{", `m.again(Encode(Release{`},
		},
	},
	{
		name:   "acknowledges before commit",
		breaks: []Invariant{Acknowledged, OwnWrites},
		in: []edit{{sendFile, "s.proposed = append(s.proposed, p)\n", `s.proposed = append(s.proposed, p)
		for _, i := range p.items {
			if i.open--; i.open == 0 && planted == "acknowledges before commit" {
				i.end(Answer{})
			} else if planted != "acknowledges before commit" {
				i.open++
			}
		}
`}},
	},
	{
		name:   "acknowledges before sync",
		breaks: []Invariant{Acknowledged, Promised},
		in: []edit{{memberFile, "if err := m.Log.Save(rd); err != nil {", `if planted == "acknowledges before sync" {
		for _, message := range kept.GetResponses() {
			if message.GetTo() != m.self {
				m.env.Send([]*raftpb.Message{message})
			}
		}
	}
	if err := m.Log.Save(rd); err != nil {`}},
	},
	{
		name:   "forgets a vote",
		breaks: []Invariant{OneVote, OneLeader, Promised},
		in: []edit{{logFile, "return proto.Clone(l.hard).(*raftpb.HardState), proto", `if planted == "forgets a vote" {
		term, _ := l.Term(l.last())
		return &raftpb.HardState{Term: &term, Commit: l.hard.Commit}, proto.Clone(conf).(*raftpb.ConfState), nil
	}
	return proto.Clone(l.hard).(*raftpb.HardState), proto`}},
	},
	{
		name:   "cuts the log before the journal is synced",
		breaks: []Invariant{Acknowledged, EqualPools},
		in: []edit{{applyFile, "err := m.Pool.SyncJournal()\n", `var err error
		if planted != "cuts the log before the journal is synced" {
			err = m.Pool.SyncJournal()
		}
`}},
	},
	{name: ReusesID, soon: true, breaks: []Invariant{OneSignature, OneVote, OneLeader, Acknowledged, Running, Agreement,
		Released}},
	{
		name:   "answers a send before its own index",
		breaks: []Invariant{OwnWrites},
		in: []edit{{sendFile, "if send.index > m.appliedIndex {",
			`if send.index > m.appliedIndex && planted != "answers a send before its own index" {`}},
	},
	{name: ExpiresByClock, breaks: []Invariant{Acknowledged, EqualPools}},
	{
		name:   "sends MsgApp on two connections",
		breaks: []Invariant{InOrder},
		in: []edit{{linkFile, "switch m.GetType() {", `if planted == "sends MsgApp on two connections" && len(m.GetEntries()) == 0 {
		return Pulse
	}
	switch m.GetType() {`}},
	},
}

// plants are additional files that the bugs need, by the package's directory.
var plants = map[string]string{
	"internal/engine/cluster": `package cluster

import "os"

var planted = os.Getenv("CAIRN_PLANTED")

// signLast signs the last block of the log, whatever was decided.
func (m *Member) signLast() {
	last, _ := m.Log.LastIndex()
	first, _ := m.Log.FirstIndex()
	for ; last >= first; last-- {
		entries, err := m.Log.Entries(last, last+1, 1)
		if err != nil {
			return
		}
		if b, err := Decode(entries[0].GetData()); err == nil {
			if block, ok := b.(Block); ok {
				_, _ = m.sign(block.Header)
				return
			}
		}
	}
}

var before = map[*Member][]byte{}

// again proposes a Release, and the one before once more when there is a proposal.
func (m *Member) again(data []byte) error {
	if planted == "takes a stale Release" && before[m] != nil {
		_ = m.raw.Propose(before[m])
	}
	before[m] = data
	return m.raw.Propose(data)
}
`,
	"internal/storage/raftlog": `package raftlog

import "os"

var planted = os.Getenv("CAIRN_PLANTED")
`,
}

// build builds these tests with the bugs planted into the code; the environment selects the active one.
func build(t *testing.T) string {
	t.Helper()
	const root = "../.."
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	texts := make(map[string]string)
	for _, b := range bugs {
		for _, e := range b.in {
			if _, there := texts[e.file]; !there {
				source, err := os.ReadFile(filepath.Join(root, e.file))
				if err != nil {
					t.Fatal(err)
				}
				texts[e.file] = string(source)
			}
			if strings.Count(texts[e.file], e.was) != 1 {
				t.Fatalf("%q: %s does not have once: %s", b.name, e.file, e.was)
			}
			texts[e.file] = strings.Replace(texts[e.file], e.was, e.is, 1)
		}
	}
	for pkg, text := range plants {
		texts[filepath.Join(pkg, "planted.go")] = text
	}
	for file, text := range texts {
		path, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		replaced := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(replaced, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[path] = replaced
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	listFile, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "planted.test")
	if err := os.WriteFile(listFile, list, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", listFile, "-o", program,
		".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// allBugs may be set to search also for bugs that take long to find.
var allBugs = flag.Bool("all-bugs", false, "plant every bug, not only those that are found soon")

// TestPlantedBugsAreFound: each bug breaks the property that it should break within ten seeds.
func TestPlantedBugsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	program := build(t)
	for _, b := range bugs {
		if !*allBugs && !b.soon {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			seeds := exec.Command(program, "-test.run", "^TestSeeds$", "-seeds", "10", "-seconds", "60", "-until-one", "-bug",
				b.name)
			seeds.Env = append(os.Environ(), "CAIRN_PLANTED="+b.name)
			out, err := seeds.CombinedOutput()
			if err != nil && !errors.As(err, new(*exec.ExitError)) {
				t.Fatal(err)
			}
			for _, line := range strings.Split(string(out), "\n") {
				for _, i := range b.breaks {
					if strings.Contains(line, string(i)) {
						t.Log(strings.TrimSpace(line))
						return
					}
				}
			}
			t.Errorf("not found within ten seeds:\n%.2000s", out)
		})
	}
}
