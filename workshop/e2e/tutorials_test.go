package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tutorial on contracts needs the compiler of contracts, so it runs only on request. The TypeScript tutorial is
// tested with the SDK.
var tutorials = flag.String("tutorials", "chain,go,verify", "the tutorials that are done")

// block is a code block of a page, with its declared language and the file that it stands for.
type block struct{ language, file, code string }

// A block with the content of a file, which the end of the paragraph before it names: "…, `main.go`:".
var codeBlock = regexp.MustCompile("(?ms)(?:, `([\\w./]+)`:\n\n)?^```(\\w+)\n(.*?)^```$")

func blocksOf(t *testing.T, page string) (blocks []block) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range codeBlock.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, block{language: found[2], file: found[1], code: found[3]})
	}
	return blocks
}

// mark separates the outputs of a page's blocks.
const mark = "==== block"

// script returns the code blocks of a page as one script. A block that starts a node runs in the background, and the
// next blocks wait until the node serves. The process is the node itself, so that the script can end it.
func script(t *testing.T, blocks []block, ports []string) string {
	t.Helper()
	place := strings.NewReplacer(
		":8777", ":"+ports[0], ":8778", ":"+ports[1], ":8787", ":"+ports[2], ":8788", ":"+ports[3],
	)
	lines := []string{"set -eu", "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT"}
	for i, b := range blocks {
		code := place.Replace(b.code)
		lines = append(lines, fmt.Sprintf("echo '%s %d'", mark, i))
		switch {
		case b.file != "":
			lines = append(lines, fmt.Sprintf("cat >%s <<'END OF FILE'\n%sEND OF FILE", b.file, code))
		case b.language != "sh":
		case strings.HasPrefix(code, "cairn dev") || strings.HasPrefix(code, "cairn node"):
			at := ports[0]
			if strings.Contains(code, ports[2]) {
				at = ports[2]
			}
			lines = append(lines, fmt.Sprintf("{ exec %s\n} >node-%d.log 2>&1 &", strings.TrimSpace(code), i),
				fmt.Sprintf("until cairn status --rpc-url http://127.0.0.1:%s >/dev/null 2>&1; do "+
					"kill -0 $! || { cat node-%d.log; exit 1; }; done", at, i))
			if strings.HasPrefix(code, "cairn dev") { // a page also works on a chain that another page has used
				lines = append(lines, "cairn send dev1 1 --from dev9 >used.log 2>&1")
			}
		default:
			lines = append(lines, code)
		}
	}
	return strings.Join(lines, "\n")
}

// TestTutorials follows the tutorials, in a shell and in a directory of its own: every command must succeed, and print
// the output in the page.
func TestTutorials(t *testing.T) {
	t.Parallel()
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for page := range strings.SplitSeq(*tutorials, ",") {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			blocks := blocksOf(t, "../../docs/tutorials/"+page+".md")
			var ports []string
			for range 4 {
				ports = append(ports, strings.TrimPrefix(freeAddress(t), "127.0.0.1:"))
			}
			shell := exec.CommandContext(t.Context(), "bash", "-c", script(t, blocks, ports))
			shell.Dir = t.TempDir()
			shell.Env = append(newUser(t).environment,
				"PATH="+filepath.Dir(buildBinary(t))+string(os.PathListSeparator)+os.Getenv("PATH"), "CLONE="+source,
				"CAIRN_RPC_URL=http://127.0.0.1:"+ports[0], "CAIRN_RPC_ADDR=127.0.0.1:"+ports[0],
				"CAIRN_ADMIN_ADDR=127.0.0.1:"+ports[1], "GOCACHE="+goEnvironment(t, "GOCACHE"),
				"GOMODCACHE="+goEnvironment(t, "GOMODCACHE"))
			output, err := shell.CombinedOutput()
			if err != nil {
				t.Fatalf("%v:\n%s", err, output)
			}
			checkPrinted(t, blocks, strings.Split(string(output), mark)[1:])
		})
	}
}

// goEnvironment returns a setting of the go command, which a user with another home directory would not find.
func goEnvironment(t *testing.T, name string) string {
	t.Helper()
	value, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(value))
}

// checkPrinted compares the output of blocks with the text that follows them in the page, in which … stands for
// anything.
func checkPrinted(t *testing.T, blocks []block, printed []string) {
	t.Helper()
	if len(printed) != len(blocks) {
		t.Fatalf("%d of %d blocks ran", len(printed), len(blocks))
	}
	for i, b := range blocks {
		if b.language != "text" || i == 0 || blocks[i-1].language != "sh" {
			continue
		}
		want := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(b.code)), "…", `[\s\S]*`)
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(strings.TrimSpace(printed[i-1])) {
			t.Errorf("%s\nprinted%s\nwant %s", blocks[i-1].code, printed[i-1], b.code)
		}
	}
}
