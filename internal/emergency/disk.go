package emergency

import "fmt"

// DiskFull is told of a disk without room for the next write.
func DiskFull(dir string, cause error) *Emergency {
	return &Emergency{
		What:  fmt.Sprintf("no space left on device: the disk of %s is full", dir),
		Lost:  nothing,
		Next:  fmt.Sprintf("Make room, and start again: the disk's other files, or old copies in %s/backups, may go", dir),
		Cause: cause,
	}
}

// OtherUser is told of a directory that belongs to somebody else than who runs the program. as are the words that run a
// command as the owner.
func OtherUser(dir string, owner, self int, as string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("%s belongs to user %d, and this command runs as user %d: what it would write there the owner's "+
			"node could not read", dir, owner, self),
		Lost:  "nothing is lost, and nothing was written",
		Next:  fmt.Sprintf("Run the command as the owner: `%s`", as),
		Final: true,
		Cause: cause,
	}
}

// Unreadable is told of a file or directory that may not be read by who runs the program.
func Unreadable(path string, self int, cause error) *Emergency {
	return &Emergency{
		What:  fmt.Sprintf("user %d may not open %s", self, path),
		Lost:  "nothing is lost, and nothing was written",
		Next:  fmt.Sprintf("Run the command as the user of the node: `ls -ln %s` shows whose it is", path),
		Final: true,
		Cause: cause,
	}
}
