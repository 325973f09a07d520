package operator

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
)

// Every function that opens or uses a directory reports damage in storage, and the system's disk errors, as
// emergencies.
func TestStorageErrorsAreExplained(t *testing.T) {
	for _, err := range []error{
		chain.ErrCorrupt, chain.ErrOtherSchedule, &chain.FormatError{Has: 4, Reads: 5}, kv.ErrDamaged, raftlog.ErrDamaged,
		raftlog.ErrLost, journal.ErrFormat, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS,
	} {
		got := datadir.Explain("./d", fmt.Errorf("block 7: %w", err))
		var e *emergency.Emergency
		if !errors.As(got, &e) || !errors.Is(got, err) {
			t.Errorf("%v becomes %v, want an emergency of it", err, got)
			continue
		}
		checkEmergency(t, err.Error(), e)
		// A full disk may get room, and a failing disk may answer again. Damage is permanent.
		if final := !errors.As(err, new(syscall.Errno)); e.Final != final {
			t.Errorf("%v: got final %t, want %t", err, e.Final, final)
		}
	}
	if other := errors.New("other"); datadir.Explain("./d", other) != other || datadir.Explain("./d", nil) != nil {
		t.Error("another error is changed")
	}
}

// emergencyWords are words of messages that belong into package emergency.
var emergencyWords = regexp.MustCompile(`(?i)\bdamaged\b|\bhalt(s|ed)\b|\bmoved? \S+ ?\S* ?away\b|\brestore\b|\bmake room\b|` +
	`\bnewer version\b|\bstart it again\b|\bchain's producer is\b|does not know it\b`)

// notEmergencies are the beginnings of messages with such words that are parts of an emergency, or not for an operator
// whose node cannot continue.
var notEmergencies = map[string]string{
	"the file is damaged":          "a cause: of a lock, a journal or a note, of each of which there is a message",
	"the store is damaged":         "a cause, which datadir.Explain makes a message of",
	"the database is damaged":      "a cause, which datadir.Explain makes a message of",
	"the cluster's log is damaged": "a cause, which datadir.Explain makes a message of",
	"the signer's sign state is":   "a cause, of SignerLockLost",
	"the replica has halted":       "ends a session, and is shown to nobody",
	"the chunk is damaged":         "of a snapshot: it is fetched again, elsewhere",
	"compiled code is damaged":     "it is compiled again",
	"cannot remove damaged":        "it is compiled again",
	"%s: %w: it was damaged":       "tells a client what is not there; the log has the message",
	"the node at %s has halted":    "of another node, whose production cannot be handed on",
	"%s is neither a file nor":     "a directory that cannot be copied; nothing was done",
}

// No message with the words of an emergency is made outside its package.
func TestNoEmergencyElsewhere(t *testing.T) {
	used := make(map[string]bool)
	for _, root := range []string{"../../internal", "../../cli"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch base := filepath.Base(path); {
			case err != nil:
				return err
			case entry.IsDir() && (base == "emergency" || base == "testkit" || base == "archtest" || base == "testdata"):
				return filepath.SkipDir
			case !strings.HasSuffix(base, ".go"), strings.HasSuffix(base, "_test.go"):
				return nil
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				for _, text := range messagesOf(n) {
					if why := excuse(text, used); emergencyWords.MatchString(text) && why == "" {
						t.Errorf("%s: %q reads like an emergency, and is not made in internal/emergency", files.Position(n.Pos()), text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for begins := range notEmergencies {
		if !used[begins] {
			t.Errorf("nothing is excused by %q any more", begins)
		}
	}
}

// excuse is the reason why a message is not an emergency, or empty.
func excuse(text string, used map[string]bool) string {
	for begins, why := range notEmergencies {
		if strings.HasPrefix(text, begins) {
			used[begins] = true
			return why
		}
	}
	return ""
}

// makers are the functions that make an error, a text or a line of the log.
var makers = map[string]bool{"New": true, "Errorf": true, "Sprintf": true, "Warn": true, "Error": true}

// messagesOf are the texts in a call that makes a message.
func messagesOf(n ast.Node) (texts []string) {
	call, is := n.(*ast.CallExpr)
	if !is {
		return nil
	}
	if f, is := call.Fun.(*ast.SelectorExpr); !is || !makers[f.Sel.Name] {
		return nil
	}
	for _, arg := range call.Args {
		if text := literal(arg); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// literal is a text in the source, in one piece or several.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}
