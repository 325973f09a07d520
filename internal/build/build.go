// Package build says which program this is: two builds that may differ never look alike.
package build

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Next is the version that is being worked on.
const Next = "0.2.0"

// A release sets these with -ldflags "-X …": its version, and the commit it was made of with that commit's time.
var version, commit, date string

// Info says which program this is.
type Info struct {
	// Version is a release's version after Semantic Versioning. That of any other build is the next one's, marked as under
	// development, with the commit and whether the sources had changes beside it, as far as they are known.
	Version string `json:"version"`
	// Commit is the commit that the program was built of, in hex; empty if it is not known.
	Commit string `json:"commit"`
	// Date is the commit's time after RFC 3339, in UTC; empty if it is not known.
	Date string `json:"date"`
	// Modified reports whether the sources had changes that were not committed.
	Modified bool   `json:"modified"`
	Go       string `json:"go"` // the compiler's version
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// Read tells of the running program.
func Read() Info {
	stamps := map[string]string{}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			stamps[s.Key] = s.Value
		}
	}
	return info(stamps)
}

// info takes what the linker set before what Go's stamps say.
func info(stamps map[string]string) Info {
	i := Info{
		Version: version,
		Commit:  commit,
		Date:    date,
		Go:      runtime.Version(),
		OS:      runtime.GOOS,
		Arch:    runtime.GOARCH,
	}
	if i.Commit == "" {
		i.Commit, i.Date, i.Modified = stamps["vcs.revision"], stamps["vcs.time"], stamps["vcs.modified"] == "true"
	}
	if i.Version == "" {
		i.Version = Next + "-dev" + i.metadata()
	}
	return i
}

// metadata is what Semantic Versioning calls build metadata, with its plus sign.
func (i Info) metadata() string {
	var parts []string
	if i.Commit != "" {
		parts = append(parts, i.Commit[:min(len(i.Commit), 7)])
	}
	if i.Modified {
		parts = append(parts, "modified")
	}
	if len(parts) == 0 {
		return ""
	}
	return "+" + strings.Join(parts, ".")
}

// String is one line for people.
func (i Info) String() string {
	text := "cairn " + i.Version
	if i.Commit != "" {
		text += fmt.Sprintf(", commit %s of %s", i.Commit[:min(len(i.Commit), 12)], i.Date)
	}
	return fmt.Sprintf("%s, %s, %s/%s", text, i.Go, i.OS, i.Arch)
}
