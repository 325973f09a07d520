package datadir

import (
	"errors"
	"io/fs"
	"os"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/internal/storage/sealed"
)

// checkBeside checks the files that a node keeps beside its database. A damaged note is ignored and damaged machine
// code is compiled again, so neither is a problem.
func (d *Dir) checkBeside() (problems []Problem) {
	found := func(where string, err error) {
		if err != nil {
			problems = append(problems, Problem{Where: where, What: err.Error()})
		}
	}
	if d.lost != nil {
		found("the newest blocks", d.lost)
	}
	if d.path == "" {
		return problems
	}
	_, err := quarantine.Open(quarantine.Options{Path: d.file(asideFile)})
	found(asideFile, err)
	_, err = replica.ReadHalt(d.file(haltFile))
	found(haltFile, err)
	found(journalFile, d.checkJournal())
	if content, err := os.ReadFile(d.file(unsignedFile)); err == nil {
		_, err := sealed.ParseBytes(content)
		found(unsignedFile, err)
	} else if !errors.Is(err, fs.ErrNotExist) {
		found(unsignedFile, err)
	}
	log, err := d.MemberLog()
	switch {
	case err == nil:
		found(votesFile, log.Close())
	case !errors.Is(err, raftlog.ErrNone):
		found("this member's Raft state", err)
	}
	return problems
}

// checkJournal reads the journal of pending transactions.
func (d *Dir) checkJournal() error {
	report, err := journal.Read(journal.OS{}, d.Journal(), func([]byte) error { return nil })
	if err == nil && report.Lost > 0 {
		err = emergency.DamagedJournal(d.Journal(), report.Records, report.Damaged, false)
	}
	return err
}
