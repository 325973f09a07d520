package emergency

import "fmt"

// DiskFull reports a disk without room for the next write.
func DiskFull(dir string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("no space left on device: the disk of %s is full", dir),
		Lost: "nothing that was acknowledged is lost",
		Next: fmt.Sprintf("Make room, and start again: the disk's other files may go, or old copies in %s/backups, of which "+
			"`cairn db backup --clean` removes what was interrupted", dir),
		Cause: cause,
	}
}

// OtherUser reports a directory that belongs to another user than the one who runs the program. as is the command line
// that runs the command as the owner.
func OtherUser(dir string, owner, self int, as string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("%s belongs to user %d, and this command runs as user %d: what it would write there the owner's "+
			"node could not read", dir, owner, self),
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
		Next: fmt.Sprintf("Run the command as the user of the node, whose it is by `ls -ln %s`, and give it back its mode: "+
			"docs/operators.md#the-data-directory", path),
		Final: true,
		Cause: cause,
	}
}

// Exposed reports a secret file that users other than its owner may read.
func Exposed(path string) *Emergency {
	return &Emergency{
		What:  fmt.Sprintf("others than its owner may read %s", path),
		Lost:  "nothing is lost unless somebody read it",
		Next:  fmt.Sprintf("Give it back its mode, `chmod 600 %s`: docs/operators.md#the-data-directory", path),
		Final: true,
	}
}

// Abandoned reports a node that did not stop in time. waited names the task that it waited for.
func Abandoned(waited string, cause error) *Emergency {
	return &Emergency{
		What: "the node did not end in time and was abandoned; it waited for " + waited,
		Lost: "nothing that was acknowledged is lost",
		Next: "Start it again, with `cairn node --data-dir DIR`; if it waited for its disk, look at the system's log first",

		Cause: cause,
	}
}

// BadSettings reports invalid settings of a command. found is the reason, and path the file that may hold some of the
// settings.
func BadSettings(path string, found error) *Emergency {
	return &Emergency{
		What:  fmt.Sprintf("the settings cannot be used: %v", found),
		Lost:  nothing,
		Next:  fmt.Sprintf("Put them right where they stand, a flag, a variable or %s: docs/settings.md#settings", path),
		Final: true,
		Cause: found,
	}
}
