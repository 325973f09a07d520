package cli

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/contractsource"
)

func TestShowTellsVerifiedFromClaimed(t *testing.T) {
	node := startNode(t)
	d := newDesk(t, node)
	gold := "0xc0" + strings.Repeat("0", 62)
	claimed := "0x" + hex.EncodeToString([]byte(goldCode[len(goldCode)-32:]))
	if o := d.run(t, "contract", "show", gold); o.exit != 0 || !strings.Contains(o.out, claimed+", not verified") {
		t.Errorf("before: %d %s%s", o.exit, o.out, o.err)
	}
	if err := os.Mkdir(d.path("verified"), 0o700); err != nil {
		t.Fatal(err)
	}
	hash := contractsource.HashOf([]byte("archive"))
	d.write(t, "verified/"+contractsource.HashOf([]byte(goldCode)).String()+".json", `{"sourceHash":"`+hash.String()+`"}`)
	if o := d.run(t, "contract", "show", gold); !strings.Contains(o.out, hash.String()+", verified here") {
		t.Errorf("after: %s", o.out)
	}
}

func TestVerifyAsksBeforeItCompiles(t *testing.T) {
	d := newDesk(t, nil)
	module := d.write(t, "x.wasm", goldCode)
	archive := d.write(t, "x.tar", "no archive")
	verify := func(more ...string) outcome {
		return d.run(t, append([]string{"contract", "verify", module, "--source", archive}, more...)...)
	}
	if o := verify(); o.exit == 0 || !strings.Contains(o.err, "--yes") || len(d.asked) != 1 {
		t.Errorf("without a terminal: %d %s", o.exit, o.err)
	}
	d.answers = []string{"no"}
	if o := verify(); o.exit != 1 || !strings.Contains(o.err, "not confirmed") {
		t.Errorf("refused: %d %s", o.exit, o.err)
	}
	if o := verify("--yes"); o.exit != 1 || !strings.Contains(o.err, "bad source") {
		t.Errorf("no archive: %d %s", o.exit, o.err)
	}
	if _, err := os.Stat(filepath.Join(d.home, "verified")); !os.IsNotExist(err) {
		t.Errorf("something is verified: error %v", err)
	}
}
