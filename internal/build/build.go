// Package build identifies the running program: two builds that may differ have different descriptions.
package build

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Next is the version under development.
const Next = "0.2.0"

// A release sets these with -ldflags "-X …": its version, its commit, and the commit's time.
var version, commit, date string

// Info identifies a build of the program.
type Info struct {
	// Version is the semantic version of a release. For any other build it is the next version, marked as a development
	// version, with the commit and a mark for modified sources, as far as they are known.
	Version string `json:"version"`
	// Commit is the hash of the commit that was built, in hex, or empty if it is not known.
	Commit string `json:"commit"`
	// Date is the commit's time in UTC in the format of RFC 3339, or empty if it is not known.
	Date string `json:"date"`
	// Modified reports whether the sources had uncommitted changes.
	Modified bool   `json:"modified"`
	Go       string `json:"go"` // the compiler's version
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// Read returns the build information of the running program.
func Read() Info {
	stamps := map[string]string{}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			stamps[s.Key] = s.Value
		}
	}
	return info(stamps)
}

// info combines the linker's values, which take precedence, with Go's build stamps.
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

// metadata returns the version's build metadata with the leading plus sign, or "".
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

// String formats the information as one line.
func (i Info) String() string {
	text := "cairn " + i.Version
	if i.Commit != "" {
		text += fmt.Sprintf(", commit %s of %s", i.Commit[:min(len(i.Commit), 12)], i.Date)
	}
	return fmt.Sprintf("%s, %s, %s/%s", text, i.Go, i.OS, i.Arch)
}
