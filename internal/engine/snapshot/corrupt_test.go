package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

func compress(t tester, data []byte) []byte {
	t.Helper()
	encoder, err := newEncoder()
	must(t, err)
	return encoder.EncodeAll(data, nil)
}

// loose is a snapshot taken apart: the contents of its chunks, decompressed.
type loose struct {
	manifest Manifest
	kinds    []Kind
	plain    [][]byte
}

func takeApart(t *testing.T, files fs.FS) (l loose) {
	t.Helper()
	m, _, err := readManifest(files)
	must(t, err)
	l.manifest = m
	for _, c := range m.Chunks {
		data, err := readFile(files, c)
		must(t, err)
		plain, err := decompress(data)
		must(t, err)
		l.kinds, l.plain = append(l.kinds, c.Kind), append(l.plain, plain)
	}
	return l
}

// files puts a snapshot together again, with matching hashes and sizes.
func (l loose) files(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	m := l.manifest
	m.Chunks, m.SizeBytes, m.ChunkCount = nil, 0, uint64(len(l.plain))
	for i, plain := range l.plain {
		data := compress(t, plain)
		files[fileName(uint64(i))] = &fstest.MapFile{Data: data}
		m.SizeBytes += uint64(len(data))
		m.Chunks = append(m.Chunks, Chunk{
			Index: uint64(i), SHA256: sha256.Sum256(data), SizeBytes: uint64(len(data)), URL: chunkPath(
				m.Height, uint64(i),
			), Kind: l.kinds[i],
		})
	}
	files[ManifestFile] = manifestFile(t, m)
	return files
}

func manifestFile(t *testing.T, m Manifest) *fstest.MapFile {
	t.Helper()
	content, err := json.Marshal(m)
	must(t, err)
	return &fstest.MapFile{Data: content}
}

// first is the index of the first chunk of a kind.
func (l loose) first(kind Kind) int { return slices.Index(l.kinds, kind) }

// remove removes a chunk.
func (l *loose) remove(i int) {
	l.kinds, l.plain = slices.Delete(l.kinds, i, i+1), slices.Delete(l.plain, i, i+1)
}

// run changes the i-th chunk of the state.
func (l *loose) run(t *testing.T, i int, change func(*stateChunk)) {
	t.Helper()
	i += l.first(KindState)
	c, err := decodeState(l.plain[i])
	must(t, err)
	change(&c)
	l.plain[i] = encodeState(c)
}

func encodeState(c stateChunk) []byte {
	entries := codec.NewEncoder(0)
	for _, e := range c.entries {
		encodeEntry(entries, e.key, e.value)
	}
	return append(encodeRun(c.before, len(c.entries), entries.Data()), encodeSides(c.left, c.right)...)
}

// executed changes the chunk of the block.
func (l *loose) executed(t *testing.T, change func(b *chain.Entry)) {
	t.Helper()
	header, err := types.DecodeSignedHeader(l.manifest.Header)
	must(t, err)
	b, err := decodeExecuted(l.plain[l.first(KindBlock)], header)
	must(t, err)
	change(&b)
	l.plain[l.first(KindBlock)] = encodeExecuted(b)
}

func sample(t *testing.T, seed uint64) fs.FS {
	t.Helper()
	c := newTestChain(t, seed)
	c.grow(blockOf{accounts: 40, contracts: 6})
	c.grow(blockOf{accounts: 40, contracts: 6, storage: 60, valueBytes: 300})
	dir := t.TempDir()
	_, err := create(t.Context(), c.store, dir, 1, 2500)
	must(t, err)
	return os.DirFS(filepath.Join(dir, "2"))
}

// Any change of a chunk's content is found although hashes and sizes match, and the message names it.
func TestVerifyFinds(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	files := sample(t, 5)
	_, err := Verify(t.Context(), takeApart(t, files).files(t), Trust{}, noProgress)
	must(t, err) // the files of an unchanged snapshot stay the same
	other := takeApart(t, sample(t, 6))
	for name, tc := range map[string]struct {
		corrupt func(t *testing.T, l *loose)
		says    string
	}{
		"first entry of a chunk left out": {func(t *testing.T, l *loose) {
			l.run(t, 2, func(c *stateChunk) { c.entries = c.entries[1:] })
		}, "state root"},
		"last entry of a chunk left out": {func(t *testing.T, l *loose) {
			l.run(t, 2, func(c *stateChunk) { c.entries = c.entries[:len(c.entries)-1] })
		}, ""},
		"last entry of the state left out": {func(t *testing.T, l *loose) {
			last := l.first(KindCode) - 1 - l.first(KindState)
			l.run(t, last, func(c *stateChunk) { c.entries = c.entries[:len(c.entries)-1] })
		}, ""},
		"an entry within a chunk left out": {func(t *testing.T, l *loose) {
			l.run(t, 1, func(c *stateChunk) { c.entries = slices.Delete(c.entries, 3, 4) })
		}, "state root"},
		"an entry of the next chunk taken over": {func(t *testing.T, l *loose) {
			var moved pair
			l.run(t, 2, func(c *stateChunk) { moved = c.entries[0] })
			l.run(t, 1, func(c *stateChunk) { c.entries = append(c.entries, moved) })
		}, ""},
		"an entry doubled": {func(t *testing.T, l *loose) {
			l.run(t, 1, func(c *stateChunk) { c.entries = slices.Insert(c.entries, 3, c.entries[3]) })
		}, "ascend"},
		"two entries in the wrong order": {func(t *testing.T, l *loose) {
			l.run(t, 1, func(c *stateChunk) { c.entries[2], c.entries[3] = c.entries[3], c.entries[2] })
		}, "ascend"},
		"another value": {func(t *testing.T, l *loose) {
			l.run(t, 1, func(c *stateChunk) { c.entries[2].value = []byte("another") })
		}, "state root"},
		"another key": {func(t *testing.T, l *loose) {
			l.run(t, 1, func(c *stateChunk) { c.entries[2].key = append([]byte{1}, make([]byte, 32)...) })
		}, ""},
		"another entry before it": {func(t *testing.T, l *loose) {
			l.run(t, 2, func(c *stateChunk) { c.before.valueHash[0] ^= 1 })
		}, "state root"},
		"no entry before it": {func(t *testing.T, l *loose) {
			l.run(t, 2, func(c *stateChunk) { c.before = nil })
		}, "before it"},
		"no entry and nothing before it": {func(t *testing.T, l *loose) {
			l.run(t, 2, func(c *stateChunk) { c.before, c.left = nil, nil })
		}, "state root"},
		"nothing after it": {func(t *testing.T, l *loose) {
			l.run(t, 2, func(c *stateChunk) { c.right = nil })
		}, "state root"},
		"a sibling on the way itself": {func(t *testing.T, l *loose) {
			l.run(t, 2, func(c *stateChunk) { c.left, c.right = c.right, c.left })
		}, "a sibling is misplaced"},
		"a chunk of another state": {func(t *testing.T, l *loose) {
			l.plain[l.first(KindState)+1] = other.plain[other.first(KindState)+1]
		}, "state root"},
		"two chunks in the wrong order": {func(_ *testing.T, l *loose) {
			i := l.first(KindState)
			l.plain[i+1], l.plain[i+2] = l.plain[i+2], l.plain[i+1]
		}, "does not start where"},
		"a chunk twice": {func(_ *testing.T, l *loose) {
			i := l.first(KindState) + 1
			l.plain, l.kinds = slices.Insert(l.plain, i, l.plain[i]), slices.Insert(l.kinds, i, KindState)
		}, "does not start where"},
		"the first chunk left out": {func(_ *testing.T, l *loose) { l.remove(l.first(KindState)) }, "not the first"},
		"a chunk left out": {
			func(_ *testing.T, l *loose) { l.remove(l.first(KindState) + 1) }, "does not start where",
		},
		"the last chunk left out": {func(_ *testing.T, l *loose) { l.remove(l.first(KindCode) - 1) }, ""},
		"a chunk that ends early": {func(_ *testing.T, l *loose) {
			i := l.first(KindState) + 1
			l.plain[i] = l.plain[i][:len(l.plain[i])-1]
		}, "input ends"},
		"a chunk with more at its end": {func(_ *testing.T, l *loose) {
			i := l.first(KindState) + 1
			l.plain[i] = append(l.plain[i], 0)
		}, "left over"},
		"a chunk without entries": {func(t *testing.T, l *loose) {
			l.run(t, 1, func(c *stateChunk) { c.entries = nil })
		}, "no entries"},
		"a bomb": {func(_ *testing.T, l *loose) {
			l.plain[l.first(KindState)] = make([]byte, 64<<20)
		}, "more than 8388608 bytes"},
		"a code left out": {func(_ *testing.T, l *loose) { l.remove(l.first(KindCode)) }, "is not there"},
		"a code of no contract": {
			func(_ *testing.T, l *loose) { l.plain[l.first(KindCode)] = codesOf("of none") }, "no contract has",
		},
		"codes in the wrong order": {func(_ *testing.T, l *loose) {
			l.plain[l.first(KindCode)] = codesOf("code 1", "code 0", "code 1")
		}, "does not ascend"},
		"a code twice": {func(_ *testing.T, l *loose) {
			i := l.first(KindCode)
			l.plain, l.kinds = slices.Insert(l.plain, i, l.plain[i]), slices.Insert(l.kinds, i, KindCode)
		}, "twice"},
		"policies twice": {func(_ *testing.T, l *loose) {
			i := l.first(KindPolicies)
			l.plain, l.kinds = slices.Insert(l.plain, i, l.plain[i]), slices.Insert(l.kinds, i, KindPolicies)
		}, "does not ascend"},
		"a policy that is none": {
			func(_ *testing.T, l *loose) { l.plain[l.first(KindPolicies)] = codesOf("a policy") }, "policy 0",
		},
		"a policy that is not valid": {func(_ *testing.T, l *loose) {
			l.plain[l.first(KindPolicies)] = codesOf(string(types.Policy{}.Encode()))
		}, types.ErrBadPolicy.Error()},
		"contracts left out": {func(_ *testing.T, l *loose) { l.remove(l.first(KindContracts)) }, "list of contracts"},
		"contracts twice": {func(_ *testing.T, l *loose) {
			i := l.first(KindContracts)
			l.plain, l.kinds = slices.Insert(l.plain, i, l.plain[i]), slices.Insert(l.kinds, i, KindContracts)
		}, "is not the next"},
		"another contract": {func(_ *testing.T, l *loose) {
			plain := l.plain[l.first(KindContracts)]
			plain[len(plain)-1] ^= 1
		}, "list of contracts"},
		"a contract at another height": {func(_ *testing.T, l *loose) {
			l.plain[l.first(KindContracts)][8+deploymentBytes*6]++
		}, ""},
		"a contract of another number": {func(_ *testing.T, l *loose) {
			l.plain[l.first(KindContracts)][8+deploymentBytes*11+8]++
		}, "is not the next"},
		"two contracts of a block the other way round": {func(_ *testing.T, l *loose) {
			plain := l.plain[l.first(KindContracts)]
			one, two := plain[8+12:8+deploymentBytes], plain[8+deploymentBytes+12:8+2*deploymentBytes]
			swapped := slices.Clone(one)
			copy(one, two)
			copy(two, swapped)
		}, "is not the next"},
		"holders twice": {func(_ *testing.T, l *loose) {
			i := l.first(KindHolders)
			l.plain, l.kinds = slices.Insert(l.plain, i, l.plain[i]), slices.Insert(l.kinds, i, KindHolders)
		}, "does not ascend"},
		"a holder of nothing": {func(_ *testing.T, l *loose) {
			plain := l.plain[l.first(KindHolders)]
			clear(plain[8+64 : 8+holderBytes])
		}, "holds nothing"},
		"another genesis": {func(_ *testing.T, l *loose) {
			l.plain[0][len(l.plain[0])-1] ^= 1 // a balance
		}, "genesis"},
		"no genesis": {func(_ *testing.T, l *loose) { l.plain[0] = []byte{1} }, "genesis"},
		"another block": {func(_ *testing.T, l *loose) {
			l.plain[l.first(KindBlock)] = other.plain[other.first(KindBlock)]
		}, "block"},
		"a transaction left out": {func(t *testing.T, l *loose) {
			l.executed(t, func(b *chain.Entry) {
				b.Transactions, b.Receipts, b.Reasons = b.Transactions[1:], b.Receipts[1:], b.Reasons[1:]
			})
		}, "its transactions differ"},
		"another receipt": {func(t *testing.T, l *loose) {
			l.executed(t, func(b *chain.Entry) { b.Receipts[0].GasUsed++ })
		}, "its receipts differ"},
		"two receipts the other way round": {func(t *testing.T, l *loose) {
			l.executed(t, func(b *chain.Entry) {
				i := slices.Index(b.Reasons, exec.Reverted)
				j := slices.Index(b.Reasons, exec.Success)
				b.Receipts[i], b.Receipts[j] = b.Receipts[j], b.Receipts[i]
				b.Reasons[i], b.Reasons[j] = b.Reasons[j], b.Reasons[i]
			})
		}, "its receipts differ"},
		"another witness": {func(t *testing.T, l *loose) {
			l.executed(t, func(b *chain.Entry) {
				signed := *b.Transactions[0].Signed()
				signed.Witness = types.WitnessKey{Signature: types.Signature{1}}
				b.Transactions[0] = types.NewTx(signed)
			})
		}, "its transactions differ"},
		"a receipt too many": {func(t *testing.T, l *loose) {
			l.executed(t, func(b *chain.Entry) { b.Receipts = append(b.Receipts, b.Receipts[0]) })
		}, "lists"},
		"another write": {func(t *testing.T, l *loose) {
			l.executed(t, func(b *chain.Entry) {
				b.Accesses[slices.IndexFunc(b.Accesses, types.Access.Changed)].New = []byte("another")
			})
		}, ""},
		"a deletion of what is there": {func(t *testing.T, l *loose) {
			l.executed(t, func(b *chain.Entry) {
				i := slices.IndexFunc(b.Accesses, func(a types.Access) bool { return len(a.New) > 0 })
				b.Accesses[i].New = nil
			})
		}, "differs from the block's result"},
		"a read that the state contradicts": {func(t *testing.T, l *loose) {
			var key []byte
			l.run(t, 1, func(c *stateChunk) { key = c.entries[0].key })
			l.executed(t, func(b *chain.Entry) {
				lie := types.Access{Key: key, Old: []byte("lie"), New: []byte("lie")}
				i, found := slices.BinarySearchFunc(b.Accesses, lie, func(a, b types.Access) int {
					return bytes.Compare(a.Key, b.Key)
				})
				if found {
					b.Accesses[i].New = lie.New
				} else {
					b.Accesses = slices.Insert(b.Accesses, i, lie)
				}
			})
		}, ""},
		"a read of what is not there": {func(t *testing.T, l *loose) {
			l.executed(t, func(b *chain.Entry) {
				b.Accesses = append(b.Accesses, types.Access{Key: []byte{9}, Old: []byte("lie"), New: []byte("lie")})
			})
		}, "is not there"},
		"a reason of none": {func(t *testing.T, l *loose) {
			l.executed(t, func(b *chain.Entry) { b.Reasons[slices.Index(b.Reasons, exec.Reverted)] = "bad_luck" })
		}, "bad_luck"},
		"a reason for a success": {func(t *testing.T, l *loose) {
			l.executed(t, func(b *chain.Entry) { b.Reasons[slices.Index(b.Reasons, exec.Success)] = exec.Reverted })
		}, "reverted"},
		"another number of accounts": {func(_ *testing.T, l *loose) { l.manifest.Accounts++ }, "the manifest says"},
	} {
		t.Run(name, func(t *testing.T) {
			l := takeApart(t, files)
			tc.corrupt(t, &l)
			_, err := Verify(t.Context(), l.files(t), Trust{}, noProgress)
			requireIs(t, "Verify", err, ErrFalse)
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("it says %q, not %q", err, tc.says)
			}
			into := openStore(t)
			_, err = Import(t.Context(), l.files(t), Trust{}, into, noProgress)
			requireIs(t, "Import", err, ErrFalse)
			if !into.Empty() {
				t.Error("there is a chain")
			}
		})
	}
}

func codesOf(codes ...string) []byte {
	e := codec.NewEncoder(0)
	e.U64(uint64(len(codes)))
	for _, code := range codes {
		e.Bytes([]byte(code))
	}
	return e.Data()
}

// Files that do not match the manifest are detected before they are decompressed.
func TestVerifyFindsDamage(t *testing.T) {
	files := takeApart(t, sample(t, 5)).files(t)
	for name, corrupt := range map[string]func(f *fstest.MapFile){
		"a flipped bit": func(f *fstest.MapFile) { f.Data[len(f.Data)/2] ^= 1 },
		"truncated":     func(f *fstest.MapFile) { f.Data = f.Data[:len(f.Data)-1] },
		"longer":        func(f *fstest.MapFile) { f.Data = append(f.Data, 0) },
		"empty":         func(f *fstest.MapFile) { f.Data = nil },
	} {
		bad := fstest.MapFS{}
		for file, content := range files {
			bad[file] = &fstest.MapFile{Data: bytes.Clone(content.Data)}
		}
		corrupt(bad[fileName(3)])
		_, err := Verify(t.Context(), bad, Trust{}, noProgress)
		requireIs(t, name, err, ErrDamaged)
		delete(bad, fileName(3))
		_, err = Verify(t.Context(), bad, Trust{}, noProgress)
		requireIs(t, "a file that is not there", err, ErrDamaged)
	}
}

func TestManifestIsChecked(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	files := takeApart(t, sample(t, 5)).files(t)
	for name, corrupt := range map[string]func(*Manifest){
		"another format":           func(m *Manifest) { m.Format = "cairn-snapshot-2" },
		"no header":                func(m *Manifest) { m.Header = nil },
		"another signature":        func(m *Manifest) { m.Header[len(m.Header)-1] ^= 1 },
		"another header":           func(m *Manifest) { m.Header[60] ^= 1 },
		"another height":           func(m *Manifest) { m.Height++ },
		"another block":            func(m *Manifest) { m.BlockHash[0] ^= 1 },
		"another root":             func(m *Manifest) { m.StateRoot[0] ^= 1 },
		"another chain id":         func(m *Manifest) { m.ChainID++ },
		"another count":            func(m *Manifest) { m.ChunkCount++ },
		"another size":             func(m *Manifest) { m.SizeBytes++ },
		"a chunk of nothing":       func(m *Manifest) { m.Chunks[1].SizeBytes = 0 },
		"a chunk that is too long": func(m *Manifest) { m.Chunks[1].SizeBytes = maxFileBytes + 1 },
		"a chunk elsewhere":        func(m *Manifest) { m.Chunks[1].URL = "/snapshots/2/../3" },
		"another index":            func(m *Manifest) { m.Chunks[1].Index = 2 },
		"an unknown kind":          func(m *Manifest) { m.Chunks[1].Kind = "other" },
		"kinds in another order":   func(m *Manifest) { m.Chunks[0].Kind = KindState },
		"no block":                 func(m *Manifest) { m.Chunks[1].Kind = KindState },
	} {
		m, _, err := readManifest(files)
		must(t, err)
		corrupt(&m)
		_, _, err = readManifest(fstest.MapFS{ManifestFile: manifestFile(t, m)})
		requireIs(t, name, err, ErrManifest)
	}
	_, _, err := readManifest(fstest.MapFS{ManifestFile: {Data: []byte("{")}})
	requireIs(t, "no JSON", err, ErrManifest)
	_, _, err = readManifest(fstest.MapFS{ManifestFile: {Data: make([]byte, maxManifest+1)}})
	requireIs(t, "too long", err, ErrManifest)
	_, _, err = readManifest(fstest.MapFS{})
	requireIs(t, "none", err, fs.ErrNotExist)
}

// A chunk either fails to decode, or encodes to the same bytes again.
func FuzzDecodeState(f *testing.F) {
	f.Add(encodeState(stateChunk{entries: []pair{{[]byte{1}, []byte{2}}}}))
	f.Add(encodeState(stateChunk{
		before: &place{}, entries: []pair{{[]byte{1}, []byte{2}}, {[]byte{3}, []byte{4}}},
		left: []tree.Sibling{{Depth: 3}}, right: []tree.Sibling{{Depth: 0}, {Depth: 247}},
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeState(data)
		if err != nil {
			return
		}
		if again := encodeState(c); !bytes.Equal(again, data) {
			t.Fatalf("%x encodes to %x", data, again)
		}
		if _, err := c.prove(types.StateRoot{}); err == nil {
			t.Fatal("entries under the root of nothing")
		}
	})
}

func FuzzDecodeLists(f *testing.F) {
	f.Add(codesOf("a", "b"))
	f.Add(codesOf(string(testPolicy(1).Encode()), string(testPolicy(2).Encode())))
	f.Add(make([]byte, 8))
	f.Add(append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, make([]byte, deploymentBytes)...))
	f.Add(append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, bytes.Repeat([]byte{1}, holderBytes)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		same := func(err error, count int, encode func(e *codec.Encoder)) {
			if err != nil {
				return
			}
			e := codec.NewEncoder(len(data))
			e.U64(uint64(count))
			if encode(e); !bytes.Equal(e.Data(), data) {
				t.Fatalf("%x encodes to %x", data, e.Data())
			}
		}
		codes, err := decodeCodes(data)
		same(err, len(codes), func(e *codec.Encoder) {
			for _, code := range codes {
				e.Bytes(code)
			}
		})
		policies, err := decodePolicies(data)
		same(err, len(policies), func(e *codec.Encoder) {
			for _, p := range policies {
				e.Bytes(p.Encode())
			}
		})
		contracts, err := decodeDeployments(data)
		same(err, len(contracts), func(e *codec.Encoder) {
			for _, d := range contracts {
				encodeDeployment(e, d)
			}
		})
		holders, err := decodeHolders(data)
		same(err, len(holders), func(e *codec.Encoder) {
			for _, h := range holders {
				encodeHolder(e, h)
			}
		})
	})
}

// Opening a file of arbitrary bytes returns an error or a chunk, within the bounds.
func FuzzOpenChunk(f *testing.F) {
	for _, plain := range [][]byte{
		nil, codesOf("a"), encodeState(stateChunk{entries: []pair{{[]byte{1}, []byte{2}}}}), make([]byte, 1<<20),
	} {
		f.Add(compress(f, plain))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range kinds {
			if c, err := openChunk(data, kind, types.StateRoot{}); err == nil && len(c.piece) > maxChunkBytes {
				t.Fatalf("%d bytes", len(c.piece))
			} else if err != nil {
				requireIs(t, string(kind), err, ErrFalse)
			}
		}
	})
}

func FuzzDecodeExecuted(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 600))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := decodeExecuted(data, types.SignedHeader{})
		if err == nil && !bytes.Equal(encodeExecuted(b), data) {
			t.Fatalf("%x encodes to something else", data)
		}
	})
}
