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

// mostDamages bounds the number of damaged blocks that are remembered.
const mostDamages = 1 << 16

// damages records the damage that readers found. Whenever Pebble reads a damaged block, it searches for the flipped
// bit, which takes up to seconds. So a damaged block is read only once.
type damages struct {
	log *slog.Logger

	mu     sync.Mutex
	files  map[string]map[int64]bool // offsets of damaged blocks, by table name
	blocks int
}

// damagedBlock extracts the offset from Pebble's message about a block with a wrong checksum.
var damagedBlock = regexp.MustCompile(`block ([0-9]+)/[0-9]+: .*checksum mismatch`)

// note records damage that a reader found. The reader gets the error, so nothing is built on the damaged data.
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

// count returns the number of files in which damage was found.
func (d *damages) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.files)
}

// known returns an error if a block is known to be damaged.
func (d *damages) known(name string, offset int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.files[name][offset] {
		return nil
	}
	return fmt.Errorf("%w: the block at byte %d of %s, as found before", pebble.ErrCorruption, offset, name)
}

// watchedTable is a table whose known damaged blocks are not read again.
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
