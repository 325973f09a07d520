package datadir_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/types"
)

// exported returns an export of a development chain with the given number of blocks after genesis, and its genesis.
func exported(t *testing.T, blocks uint64) (file []byte, genesis types.Genesis) {
	t.Helper()
	dir := t.TempDir()
	n, end := runDevelopment(t, dir)
	genesis = genesisOf(t, n)
	c, err := client.New(n.RPCURL())
	check(t, err)
	for range 2 {
		_, err = c.Dev().Fund(t.Context(), types.Account{9}, types.CoinUnits)
		check(t, err)
	}
	_, err = c.Dev().Mine(t.Context(), blocks)
	check(t, err)
	c.Close()
	end()
	var buffer bytes.Buffer
	count, err := export(t, dir, types.Height(blocks), &buffer)
	if err != nil || count != blocks+1 {
		t.Fatalf("%d blocks exported, error %v", count, err)
	}
	return buffer.Bytes(), genesis
}

// frames returns the offsets of a file's blocks, and of its end.
func frames(file []byte) (at []int) {
	for i := 0; i < len(file); i += 8 + int(binary.LittleEndian.Uint64(file[i:])) {
		at = append(at, i)
	}
	return append(at, len(file))
}

func importFile(ctx context.Context, dir string, genesis *types.Genesis, file []byte) (uint64, error) {
	d, err := datadir.Open(dir, datadir.Options{})
	if err != nil {
		return 0, err
	}
	count, err := d.Import(ctx, datadir.Chain{Genesis: genesis}, bytes.NewReader(file), func(uint64) {})
	return count, errors.Join(err, d.Close())
}

// export exports the blocks of a directory up to a height.
func export(t *testing.T, dir string, to types.Height, w io.Writer) (uint64, error) {
	t.Helper()
	d, err := datadir.OpenChain(dir, datadir.Options{})
	check(t, err)
	defer func() { check(t, d.Close()) }()
	written, err := d.Export(t.Context(), datadir.Blocks{To: to}, w, func(uint64, uint64) {})
	return uint64(written.To-written.From) + 1, err
}

// genesisOf asks a node for the genesis of its chain.
func genesisOf(t *testing.T, n *node.Node) types.Genesis {
	t.Helper()
	c, err := client.New(n.RPCURL())
	check(t, err)
	defer c.Close()
	info, err := client.Invoke(t.Context(), c, api.GetGenesis, api.NoParams{})
	check(t, err)
	genesis, err := types.DecodeGenesis(info.Raw)
	check(t, err)
	return genesis
}

// An exported chain is sound after its import, at once or in overlapping parts.
func TestImportMakesTheChain(t *testing.T) {
	const blocks = 300 // more blocks than are executed together
	file, genesis := exported(t, blocks)
	at := frames(file)
	whole, parts := t.TempDir(), t.TempDir()
	if count, err := importFile(t.Context(), whole, &genesis, file); err != nil || count != blocks {
		t.Fatalf("%d blocks, error %v", count, err)
	}
	for _, part := range []struct {
		from, to int
		genesis  *types.Genesis
		new      uint64
	}{{0, 5, &genesis, 4}, {3, 5, nil, 0}, {2, blocks + 1, nil, blocks - 4}, {0, blocks + 1, &genesis, 0}} {
		if count, err := importFile(t.Context(), parts, part.genesis, file[at[part.from]:at[part.to]]); err != nil ||
			count != part.new {
			t.Fatalf("%+v: %d blocks, error %v", part, count, err)
		}
	}
	var reports [2]datadir.Report
	for i, dir := range []string{whole, parts} {
		d, err := datadir.OpenChain(dir, datadir.Options{})
		check(t, err)
		if reports[i], err = d.Check(t.Context(), func(uint64, uint64) {}); err != nil || !reports[i].OK() ||
			reports[i].Head != blocks || reports[i].Transactions != 2 {
			t.Errorf("got %+v, error %v", reports[i], err)
		}
		check(t, d.Close())
	}
	var again bytes.Buffer
	if _, err := export(t, parts, blocks, &again); err != nil || !bytes.Equal(again.Bytes(), file) {
		t.Errorf("exported again it is another file, error %v", err)
	}
}

// The error says what is wrong with a file, and the blocks before the fault are imported.
func TestImportRefuses(t *testing.T) {
	file, genesis := exported(t, 4)
	at := frames(file)
	other := genesis
	other.Time++
	changed := func(i int, mask byte) []byte {
		b := slices.Clone(file)
		b[i] ^= mask
		return b
	}
	for _, test := range []struct {
		name  string
		file  []byte
		to    *types.Genesis
		count uint64
		want  error
		says  string
	}{
		{"no chain and no genesis", file, nil, 0, datadir.ErrNoChain, ""},
		{"another genesis", file, &other, 0, nil, "block 0 is "},
		{"a gap", slices.Concat(file[:at[2]], file[at[3]:]), &genesis, 1, ledger.ErrOtherHeight, "blocks 3 to 3 of the file"},
		{"a header", changed(at[3]+8+60, 1), &genesis, 2, ledger.ErrAltered, "blocks 3 to 3 of the file"},
		{"a height", changed(at[3]+8+13, 1), &genesis, 2, ledger.ErrAltered, ""},
		{"a body", changed(at[2]-1, 1), &genesis, 0, ledger.ErrAltered, "blocks 1 to 1 of the file"},
		{"a short length", changed(at[4]+1, 1), &genesis, 3, datadir.ErrBadExport, ""},
		{"a long length", changed(at[4]+6, 1), &genesis, 3, datadir.ErrBadExport, ""},
		{"an end within a block", file[:at[5]-1], &genesis, 3, datadir.ErrBadExport, "ends in the middle of"},
		{"an end after a length", file[:at[4]+8], &genesis, 3, datadir.ErrBadExport, "ends in the middle of"},
		{"an end within a length", file[:at[4]+3], &genesis, 3, datadir.ErrBadExport, "ends in the middle of"},
	} {
		count, err := importFile(t.Context(), t.TempDir(), test.to, test.file)
		if err == nil || count != test.count || test.want != nil && !errors.Is(err, test.want) ||
			!strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %d blocks, %v; want %d and %v %s", test.name, count, err, test.count, test.want, test.says)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if count, err := importFile(ended, t.TempDir(), &genesis, file); !errors.Is(err, context.Canceled) || count != 0 {
		t.Errorf("an import that is ended: %d blocks, error %v", count, err)
	}
}

// Only the damaged block is lost: once it is imported from another export, the import continues after it.
func TestImportGoesOnBehindDamage(t *testing.T) {
	file, genesis := exported(t, 6)
	at := frames(file)
	for name, place := range map[string]int{
		"a low byte of the length": at[3], "a high byte of the length": at[3] + 6, "the header": at[3] + 8 + 60,
		"the height": at[3] + 8 + 13, "the signature": at[3] + 8 + types.SignedHeaderBytes - 1,
	} {
		damaged, dir := slices.Clone(file), t.TempDir()
		damaged[place] ^= 1
		count, err := importFile(t.Context(), dir, &genesis, damaged)
		var e *emergency.Emergency
		if !errors.As(err, &e) || count != 2 || !strings.Contains(e.Next, "--from 3 --to 3") {
			t.Errorf("%s: %d blocks, %v; want 2, and how block 3 is had", name, count, err)
			continue
		}
		if count, err := importFile(t.Context(), dir, nil, file[at[3]:at[4]]); err != nil || count != 1 {
			t.Errorf("%s: block 3 from elsewhere: %d blocks, %v; want 1", name, count, err)
		}
		if count, err := importFile(t.Context(), dir, nil, damaged); err != nil || count != 3 {
			t.Errorf("%s: behind it: %d blocks, %v; want 3", name, count, err)
		}
	}
}

// A directory in use by a node is not changed.
func TestImportBesideANode(t *testing.T) {
	dir := t.TempDir()
	n, end := runDevelopment(t, dir)
	defer end()
	genesis := genesisOf(t, n)
	if _, err := importFile(t.Context(), dir, &genesis, nil); !errors.Is(err, datadir.ErrLocked) {
		t.Errorf("error %v, want %v", err, datadir.ErrLocked)
	}
}

// Both ends of a range follow one rule: the range is cut to the available blocks, and refused if it has none of them.
func TestRangesAreCutAtBothEnds(t *testing.T) {
	dir, _ := usedDir(t)
	d, err := datadir.OpenChain(dir, datadir.Options{})
	check(t, err)
	defer func() { check(t, d.Close()) }()
	s, err := d.Store()
	check(t, err)
	head := s.Head().Header.Height
	for asked, want := range map[datadir.Blocks]datadir.Blocks{
		{From: 0, To: head}:            {From: 0, To: head},
		{From: 2, To: 99999999}:        {From: 2, To: head},
		{From: head, To: head + 1}:     {From: head, To: head},
		{From: head + 1, To: head + 9}: {},
		{From: 3, To: 2}:               {},
	} {
		got, err := d.Export(t.Context(), asked, io.Discard, func(uint64, uint64) {})
		if refused := want == (datadir.Blocks{}); errors.Is(err, datadir.ErrBadRange) != refused ||
			!refused && (err != nil || got != want) {
			t.Errorf("of %+v come %+v, %v, want %+v", asked, got, err, want)
		}
		if want != (datadir.Blocks{}) {
			continue
		}
		if _, _, err := d.Prove(t.Context(), asked, nil, nil); !errors.Is(err, datadir.ErrBadRange) {
			t.Errorf("proving %+v: %v, want %v", asked, err, datadir.ErrBadRange)
		}
	}
}
