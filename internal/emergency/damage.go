package emergency

import (
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// acknowledged describes the loss after damage to a database or disk.
const acknowledged = "data elsewhere on this disk is not lost"

// DamagedDatabase reports a database whose files are corrupt. If member is set, the database belongs to a cluster
// member, which must be replaced and not restored from a copy.
func DamagedDatabase(dir string, member bool, cause error) *Emergency {
	e := &Emergency{
		What: fmt.Sprintf("the database in %s cannot be used: %v", dir, cause),
		Lost: acknowledged,
		Next: fmt.Sprintf("If this node follows another one, move %s/db away and start it: it fetches the chain again. If it "+
			"makes the blocks, restore a copy as docs/operators.md#restore-a-primary says", dir),
		Final: true,
		Cause: cause,
	}
	if member {
		e.Lost, e.Next = heldByOthers, replaceMember
	}
	return e
}

// heldByOthers and replaceMember are the loss and the next step after a member's disk lost data.
const (
	heldByOthers  = "nothing is lost, as the other members have the same data"
	replaceMember = "Remove the member with `cairn cluster remove NAME`, and " + begin
)

// DamagedTable reports a database file in which a read found damage while the node runs.
func DamagedTable(file string, cause error) *Emergency {
	return &Emergency{
		What:  fmt.Sprintf("the database file %s is damaged, and reads of the damaged part fail: %v", file, cause),
		Lost:  acknowledged,
		Next:  "Stop the node, and run `cairn db check --data-dir DIR`, which names the damage and the next step",
		Cause: cause,
	}
}

// DiskFails reports a disk with read or write errors.
func DiskFails(dir string, cause error) *Emergency {
	return &Emergency{
		What:  fmt.Sprintf("the disk of %s fails: %v", dir, cause),
		Lost:  "nothing that was acknowledged is lost on it",
		Next:  "Look at the system's log, copy the directory to another disk, and run `cairn db check --data-dir COPY` there",
		Cause: cause,
	}
}

// DamagedSignState reports a damaged sign state, which may lack the newest signed block.
func DamagedSignState(dir, lock string, head types.Height, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the sign state of this node's key, its double-sign protection, is damaged: %v", cause),
		Lost: fmt.Sprintf("the newest block that it names may be lost here: the chain ends at block %d", head),
		Next: fmt.Sprintf("Move %s away. If a replica has a later block, start with `cairn node --data-dir %s --upstream URL` "+
			"of that one; if none has, run `cairn promote --from-dead --data-dir %s --protocol-key FILE --replica URL`",
			lock, dir, dir),
		Final: true,
		Cause: cause,
	}
}

// DamagedQuarantine reports a damaged quarantine file.
func DamagedQuarantine(path string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the quarantine file, %s, is damaged: %v", path, cause),
		Lost: "the list of quarantined codes, and of delayed senders and codes, is lost; the chain is not affected",
		Next: "Move the file away and start the node, which then has an empty quarantine; `cairn quarantine list " +
			"--data-dir DIR` shows its entries",
		Final: true,
		Cause: cause,
	}
}

// DamagedUnsigned reports a damaged file of the block that the signer was last asked to sign.
func DamagedUnsigned(path string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the file of the block that the signer was last asked to sign, %s, is damaged: %v", path, cause),
		Lost: "that block is lost if the signer has signed it, and its transactions wait in the journal",
		Next: "Move the file away and start the node. If the signer then refuses the next block, it has signed the lost one: " +
			"make sure that no node has that block, stop the signer, run `cairn signer unlock --data-dir DIR`, and start it",
		Final: true,
		Cause: cause,
	}
}

// DamagedEvidence reports a damaged file of the evidence for a halt.
func DamagedEvidence(path string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("%s, the evidence of why this node halted, is damaged: %v", path, cause),
		Lost: "nothing of the chain is lost, and the node's log of that time has the finding",
		Next: "Move the file away and start the node: it executes the same block again, and halts again if the result is the " +
			"same. docs/operators.md#when-a-replica-halts says what to compare then",
		Final: true,
		Cause: cause,
	}
}

// DamagedPlace reports that a member's key or the file that identifies its directory is missing or damaged.
func DamagedPlace(path string, cause error) *Emergency {
	return &Emergency{
		What:  fmt.Sprintf("%s, which identifies this member of a cluster, is missing or damaged: %v", path, cause),
		Lost:  heldByOthers,
		Next:  replaceMember,
		Final: true,
		Cause: cause,
	}
}

// DamagedPromises reports that a member's log or votes are damaged, or older than its promises to the other members.
func DamagedPromises(dir string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the log and votes of the cluster's member in %s are damaged: %v. A member that forgets its vote "+
			"could vote twice", dir, cause),
		Lost:  "nothing is lost, as the others have everything committed",
		Next:  replaceMember,
		Final: true,
		Cause: cause,
	}
}

// CopiedMember reports a member's data directory that was copied or restored.
func CopiedMember(dir string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("this data directory is a copy of a member's: %s was copied or restored, and running it "+
			"could break votes that the member has cast since then", dir),
		Lost:  "nothing is lost, as the other members have the same data",
		Next:  "Never restore a member: remove it with `cairn cluster remove NAME`, and " + begin,
		Final: true,
		Cause: cause,
	}
}

// OtherJournal reports a mempool journal without any record of this program version.
func OtherJournal(dir, path string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the mempool's journal, %s, is not a journal of this version", path),
		Lost: "acknowledged transactions that wait in it are lost unless the version that wrote it puts them into blocks",
		Next: fmt.Sprintf("Run that version until nothing is pending, which `cairn mempool` shows; or move the file "+
			"away and start without its transactions: `cairn node --data-dir %s`", dir),
		Final: true,
		Cause: cause,
	}
}

// DamagedJournal reports a mempool journal with unreadable records. If decided is set, the cluster's log has these
// records too.
func DamagedJournal(path string, read, lost int, decided bool) *Emergency {
	e := &Emergency{
		What: fmt.Sprintf("the mempool's journal is damaged (%s): %d records can be read, and at least %d cannot", path, read, lost),
		Lost: "acknowledged transactions that no block has may be lost",
		Next: "Check the disk, and have the senders look up their transactions with `cairn tx ID` and resend unknown ones",
	}
	if decided {
		e.Lost, e.Next = "nothing is lost, the records come again from the cluster's log", "Check the disk, and this member with "+
			"`cairn cluster status`"
	}
	return e
}

// TornJournal reports a mempool journal that ends within a record.
func TornJournal(path string, bytes int64) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the mempool's journal ends in the middle of a record (%s): its last %d bytes are "+
			"incomplete", path, bytes),
		Lost: "nothing is lost if the process was killed or crashed, because that record was never acknowledged; if " +
			"the file was truncated otherwise, acknowledged transactions may be lost",
		Next: "If the node was shut down normally, check the disk, and have the senders look up their transactions " +
			"with `cairn tx ID`",
	}
}

// MissingJournal reports a chain without its mempool journal.
func MissingJournal(path string) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the mempool's journal is missing (%s), as is normal after a chain was copied or fetched "+
			"into this directory", path),
		Lost: "otherwise, transactions that were acknowledged here and are in no block are lost",
		Next: "Have the senders look up their transactions with `cairn tx ID` and resend unknown ones",
	}
}

// Problems reports the number of problems that a check of the chain found and has already listed.
func Problems(dir string, member bool, found uint64) *Emergency {
	e := &Emergency{
		What: fmt.Sprintf("%d problems found, listed above", found),
		Lost: "the data that they concern may be lost in this directory",
		Next: fmt.Sprintf("A problem with a file beside the database is listed with its next step. For the database: if "+
			"this node follows another one, move %s/db away and start it, and it fetches the chain again; if it makes the "+
			"blocks, restore a copy as docs/operators.md#restore-a-primary says", dir),
	}
	if member {
		e.Lost, e.Next = heldByOthers, "A problem with a file beside the database is listed with its next step. "+replaceMember
	}
	return e
}

// DamagedExport reports an export file with damaged blocks.
func DamagedExport(from, to types.Height, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("blocks %d to %d of the file are damaged, or belong to another chain: %v", from, to, cause),
		Lost: "nothing is lost, the blocks before them are imported",
		Next: fmt.Sprintf("Export these blocks again from a directory that has them, `cairn db export --from %d --to "+
			"%d --out some.bin`, import them with `cairn db import --input some.bin`, and then import this file "+
			"again, which continues after the damage", from, to),
		Cause: cause,
	}
}

// DamagedBackup reports that a new backup failed its verification.
func DamagedBackup(path string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the backup %s is damaged, and must not be used: %v", path, cause),
		Lost: "nothing more is lost",
		Next: "Stop the node, and run `cairn db check --data-dir DIR`, which names what is damaged there; `cairn db backup --clean` " +
			"removes this copy, and older ones may be sound",
		Cause: cause,
	}
}

// DiskFull reports a disk without room for the next write.
func DiskFull(dir string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("no space left on device: the disk of %s is full", dir),
		Lost: "nothing that was acknowledged is lost",
		Next: fmt.Sprintf("Free up space, and start again: delete other files on the disk, or old backups in "+
			"%s/backups; `cairn db backup --clean` removes interrupted ones", dir),
		Cause: cause,
	}
}

// OtherUser reports a directory that belongs to another user than the one who runs the program. as is the command line
// that runs the command as the owner.
func OtherUser(dir string, owner, self int, as string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("%s belongs to user %d, but this command runs as user %d: the owner's node could not read "+
			"files written by this command", dir, owner, self),
		Lost:  "nothing is lost, and nothing was written",
		Next:  fmt.Sprintf("Run the command as the owner, as docs/operators.md#as-a-service says: `%s`", as),
		Final: true,
		Cause: cause,
	}
}

// Unreadable reports a file or directory that the user who runs the program may not read.
func Unreadable(path string, self int, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("user %d may not open %s", self, path),
		Lost: "nothing is lost, and nothing was written",
		Next: fmt.Sprintf("Run the command as the node's user, whom `ls -ln %s` shows, and restore the file's mode: "+
			"docs/operators.md#the-data-directory", path),
		Final: true,
		Cause: cause,
	}
}

// Exposed reports a secret file that users other than its owner may read.
func Exposed(path string) *Emergency {
	return &Emergency{
		What:  fmt.Sprintf("users other than its owner may read %s", path),
		Lost:  "nothing is lost unless somebody read it",
		Next:  fmt.Sprintf("Restore its mode, `chmod 600 %s`: docs/operators.md#the-data-directory", path),
		Final: true,
	}
}

// Abandoned reports a node that did not stop in time. waited names the task that it waited for.
func Abandoned(waited string, cause error) *Emergency {
	return &Emergency{
		What:  "the node did not stop in time and was ended; it waited for " + waited,
		Lost:  "nothing that was acknowledged is lost",
		Next:  "Start it again, with `cairn node --data-dir DIR`; if it waited for its disk, look at the system's log first",
		Cause: cause,
	}
}

// BadSettings reports invalid settings of a command. found is the reason, and path the file that may hold some of the
// settings.
func BadSettings(path string, found error) *Emergency {
	return &Emergency{
		What:  fmt.Sprintf("the settings cannot be used: %v", found),
		Lost:  nothing,
		Next:  fmt.Sprintf("Correct the flag, the variable or the line of %s: docs/settings.md#settings", path),
		Final: true,
		Cause: found,
	}
}
