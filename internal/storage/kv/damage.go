package kv

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cairn-chain/cairn/internal/emergency"
)

// mostDamages bounds the damaged blocks that are remembered.
const mostDamages = 1 << 16

// damages is what readers found to be damaged. Pebble looks for the flipped bit of a block whenever the block is read,
// which takes up to seconds: so a damaged block is read once only.
type damages struct {
	log *slog.Logger

	mu     sync.Mutex
	files  map[string]map[int64]bool // the offsets of damaged blocks, by the name of the table
	blocks int
}

// damagedBlock finds the offset in Pebble's words for a block whose checksum is wrong.
var damagedBlock = regexp.MustCompile(`block ([0-9]+)/[0-9]+: .*checksum mismatch`)

// note is told of damage that a reader found. The reader has the error: nothing is built upon it.
func (d *damages) note(info pebble.DataCorruptionInfo) {
	name := filepath.Base(info.Path)
	d.mu.Lock()
	blocks, known := d.files[name]
	if !known {
		if d.files == nil {
			d.files = make(map[string]map[int64]bool)
		}
		blocks = make(map[int64]bool)
		d.files[name] = blocks
	}
	if found := damagedBlock.FindStringSubmatch(info.Details.Error()); found != nil && d.blocks < mostDamages {
		if offset, err := strconv.ParseInt(found[1], 10, 64); err == nil && !blocks[offset] {
			blocks[offset] = true
			d.blocks++
		}
	}
	d.mu.Unlock()
	if !known {
		d.log.Error(emergency.DamagedTable(name, info.Details).Error(), "file", name)
	}
}

// count is the number of files in which damage was found.
func (d *damages) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.files)
}

// known is the error of reading a block that is known to be damaged, nil of any other.
func (d *damages) known(name string, offset int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.files[name][offset] {
		return nil
	}
	return fmt.Errorf("%w: the block at byte %d of %s, as found before", pebble.ErrCorruption, offset, name)
}

// watchedTable is a table that is not read where it is known to be damaged.
type watchedTable struct {
	vfs.File
	name    string
	damages *damages
}

// ReadAt implements vfs.File.
func (t watchedTable) ReadAt(b []byte, offset int64) (int, error) {
	if err := t.damages.known(t.name, offset); err != nil {
		return 0, err
	}
	return t.File.ReadAt(b, offset)
}
