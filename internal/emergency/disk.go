package emergency

import "fmt"

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
